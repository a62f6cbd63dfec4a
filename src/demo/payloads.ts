/** GitHub's own published example payloads, from a package that only development installs. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { z } from 'zod';
import { WaybillError } from '../domain/errors';

export interface Payload {
  /** The value of X-GitHub-Event. */
  readonly event: string;
  /** What it is, for people. */
  readonly title: string;
  /** As GitHub would send it. */
  readonly body: Buffer;
}

export type PayloadName =
  'push' | 'ping' | 'issuesOpened' | 'pullRequestOpened' | 'releasePublished' | 'largePush';

export type Payloads = Readonly<Record<PayloadName, Payload>>;

const Example = z.looseObject({ action: z.string().optional() });
type Example = z.infer<typeof Example>;
const Catalogue = z.array(z.looseObject({ name: z.string(), examples: z.array(Example) }));
type Catalogue = z.infer<typeof Catalogue>;
const Push = z.looseObject({ commits: z.array(z.looseObject({ id: z.string() })) });

const PACKAGE = '@octokit/webhooks-examples';

/** None of the published examples is larger than 27 kB; a push of so many commits is. */
const LARGE_PUSH_COMMITS = 250;

/**
 * The payloads of the story.
 * @param name the package that holds them
 * @throws WaybillError `config_invalid` when the package is not installed
 */
export async function loadPayloads(name = PACKAGE): Promise<Payloads> {
  const catalogue = await loadCatalogue(name);
  const push = example(catalogue, 'push', (it) => commitsOf(it).length > 0);
  return {
    push: payload('push', 'push', push),
    ping: payload('ping', 'ping', example(catalogue, 'ping')),
    issuesOpened: payload('issues', 'issues opened', opened(catalogue, 'issues')),
    pullRequestOpened: payload(
      'pull_request',
      'pull_request opened',
      opened(catalogue, 'pull_request'),
    ),
    releasePublished: payload(
      'release',
      'release published',
      example(catalogue, 'release', ({ action }) => action === 'published'),
    ),
    largePush: largePush(push),
  };
}

async function loadCatalogue(name: string): Promise<Catalogue> {
  try {
    const file = createRequire(__filename).resolve(name);
    return Catalogue.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw new WaybillError(
      'config_invalid',
      `the example payloads (npm ${name}) are not installed: run \`npm ci\` without omitting ` +
        'development dependencies, or `waybill up` without --story',
      { cause: error },
    );
  }
}

function example(
  catalogue: Catalogue,
  event: string,
  fits: (it: Example) => boolean = () => true,
): Example {
  const found = catalogue.find(({ name }) => name === event)?.examples.find(fits);
  if (found !== undefined) return found;
  throw new WaybillError('config_invalid', `${PACKAGE} has no fitting example of ${event}`);
}

function opened(catalogue: Catalogue, event: string): Example {
  return example(catalogue, event, ({ action }) => action === 'opened');
}

/** The published push with its commit repeated, each time under an id of its own. */
function largePush(push: Example): Payload {
  const [commit] = commitsOf(push);
  const commits = Array.from({ length: LARGE_PUSH_COMMITS }, (_, index) => ({
    ...commit,
    id: index.toString(16).padStart(40, '0'),
  }));
  const large = payload('push', '', { ...push, commits });
  const title = `push of ${LARGE_PUSH_COMMITS} commits, ${Math.round(large.body.length / 1000)} kB`;
  return { ...large, title };
}

function commitsOf(push: Example): z.infer<typeof Push>['commits'] {
  const parsed = Push.safeParse(push);
  return parsed.success ? parsed.data.commits : [];
}

function payload(event: string, title: string, content: Example): Payload {
  return { event, title, body: Buffer.from(JSON.stringify(content), 'utf8') };
}
