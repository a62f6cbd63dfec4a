/** Parts of the harness. */
import type { HttpDeps } from '../../src/http/deps';
import type { SigningKey } from '../../src/signing/keys';

export interface OtherServer {
  readonly port: number;
  readonly base: string;
  close(): Promise<void>;
}

/** Certifications whose workflows are noted instead of started. */
export function notedRuns(
  { publicJwk }: SigningKey,
  attended: [string, string][],
): HttpDeps['certifications'] {
  return {
    signer: publicJwk.x,
    start: (_tenant, { connectorId, run }) => {
      attended.push([connectorId, `run ${String(run)}`]);
      return Promise.resolve();
    },
  };
}
