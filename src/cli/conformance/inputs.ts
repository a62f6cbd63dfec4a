/** What an author gives to the suite: options and files, each mistake with its name. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { ConformanceWebhooks } from '../../conformance/subject';
import { WaybillError } from '../../domain/errors';
import { ConformanceCases } from '../../schemas/conformance';
import { Duration } from '../../schemas/durations';
import { loadShippedSchemes } from '../../schemas/shipped-schemes';
import { shippedVectors } from '../../schemas/shipped-vectors';
import { VectorFile } from '../../schemas/webhook-vectors';
import { ListenAddress } from '../../schemas/listen-addresses';
import type { ConformanceOptions } from './options';
import { namedScheme } from '../scheme/named';

export interface ConformanceInputs {
  readonly endpoint: string;
  readonly transportProfile: 'https' | 'http-loopback';
  readonly listen: { readonly host: string; readonly port: number };
  readonly cases: ConformanceCases;
  readonly webhooks: ConformanceWebhooks | null;
  readonly hostPid: number | null;
  readonly waitMs: number;
}

const Pid = z.coerce.number('write a number').int('write a whole number').min(2);
const HttpUrl = z.url({ protocol: /^https?$/, error: 'write an http or https URL' });

/** @throws WaybillError `config_invalid`, or `scheme_unreadable` for the scheme */
export async function conformanceInputs(options: ConformanceOptions): Promise<ConformanceInputs> {
  const endpoint = checked(HttpUrl, options.endpoint, '--endpoint');
  return {
    endpoint,
    transportProfile: endpoint.startsWith('https:') ? 'https' : 'http-loopback',
    listen: checked(ListenAddress, options.listen, '--listen'),
    cases: await fromFile(ConformanceCases, options.cases, '--cases', {}),
    webhooks: await webhooksOf(options),
    hostPid: options.hostPid === undefined ? null : checked(Pid, options.hostPid, '--host-pid'),
    waitMs: checked(Duration, options.wait, '--wait'),
  };
}

async function webhooksOf(options: ConformanceOptions): Promise<ConformanceWebhooks | null> {
  const { scheme: name, vectors } = options;
  if (name === undefined) {
    if (vectors === undefined) return null;
    throw invalid('--vectors', 'name their scheme, too: --scheme');
  }
  const scheme = await namedScheme(name);
  const own = await fromFile(VectorFile, vectors, '--vectors', []);
  return { scheme, vectors: [...shippedVectors(scheme, loadShippedSchemes()), ...own] };
}

/** @throws WaybillError `config_invalid` naming the option */
export async function fromFile<Schema extends z.ZodType>(
  schema: Schema,
  file: string | undefined,
  option: string,
  otherwise: z.output<Schema>,
): Promise<z.output<Schema>> {
  if (file === undefined) return otherwise;
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw invalid(option, error instanceof Error ? error.message : String(error));
  }
  return checked(schema, content, option);
}

function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  option: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.length ? `${issue.path.join('.')}: ` : '';
  throw invalid(option, `${where}${issue?.message ?? 'cannot be read'}`);
}

function invalid(option: string, problem: string): WaybillError {
  return new WaybillError('config_invalid', `${option}: ${problem}`, { field: option });
}
