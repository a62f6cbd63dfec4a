/** The connector's webhook scheme, by the vectors that ship with it and the author's own. */
import type { VectorCase } from '../../signing/webhooks/vectors';
import { runVectors } from '../../signing/webhooks/vectors';
import type { CaseRun, ConformanceCase } from '../run';
import type { ConformanceWebhooks } from '../subject';

const group = 'webhooks';

/** Vectors name the connector's scheme by this. */
const SCHEME = 'default';

export function webhookCases(webhooks: ConformanceWebhooks | null): ConformanceCase[] {
  if (webhooks === null) return [];
  return [
    {
      ...{ id: 'webhooks/vectors', group },
      rule: 'Vectors (docs/webhook-schemes): each request is accepted exactly where its vector says so',
      check: (run) => vectors(run, webhooks),
    },
  ];
}

async function vectors(run: CaseRun, { scheme, vectors: given }: ConformanceWebhooks) {
  if (given.length === 0) {
    run.fail(
      'there are no vectors of its scheme: give a file of them, as `waybill scheme test` takes',
    );
  }
  const judged: VectorCase[] = [];
  for (const vendor of given) {
    const own = { ...vendor, schemes: { [SCHEME]: scheme } };
    judged.push(...(await runVectors(own, new Map())));
  }
  const wrong = judged.filter(({ expected, actual }) => expected !== actual);
  for (const { vendor, name, expected, actual, reason } of wrong.length > 0 ? wrong : judged) {
    const why = reason === null ? '' : ` (${reason})`;
    run.note(`vector ${name} of ${vendor}, which must be ${expected}`, `${actual}${why}`);
  }
  if (wrong.length > 0) {
    run.fail(
      `${wrong.length} of ${judged.length} vectors: ${wrong.map(({ name }) => name).join(', ')}`,
    );
  }
  const says = new Set(judged.map(({ expected }) => expected));
  if (says.size < 2)
    run.fail('there must be vectors that are accepted and vectors that are refused');
}
