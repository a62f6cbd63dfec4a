/** `waybill approvals sign`: an approval token, made without a server. */
import { createHash, randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { WaybillError } from '../../domain/errors';
import { ApprovalClaims } from '../../schemas/approval-tokens';
import { canonicalJson } from '../../schemas/canonical-json';
import { parseDuration } from '../support/instants';
import { parseJsonArgument, type GivenJson } from '../support/json-argument';
import { printLine } from '../support/output';
import { signerOf } from '../support/signers';

interface SignOptions {
  readonly key: string;
  readonly as: string;
  readonly tenant: string;
  readonly about: string;
  readonly request?: GivenJson;
  readonly digest?: string;
  /** Milliseconds. */
  readonly expires: number;
}

const HOUR_MS = 3_600_000;

export function addSign(approvals: Command): void {
  approvals
    .command('sign')
    .description('Sign an approval token with your own key; needs no server.')
    .requiredOption('--key <reference>', "the approver's private key: env:NAME or file:PATH")
    .requiredOption('--as <name>', 'your name in trustedApprovers')
    .requiredOption('--tenant <id>', 'the tenant that it is for')
    .requiredOption('--about <what>', 'what is approved: action/ID, or delivery/KEY')
    .option(
      '--request <file|json>',
      'the request of the action, which you have read: JSON, or a file of it',
      parseJsonArgument,
    )
    .option('--digest <sha256>', 'or the digest of that, as Waybill shows it')
    .option('--expires <duration>', 'how long it counts (default: 1h)', parseDuration, HOUR_MS)
    .addHelpText(
      'after',
      '\nExample:\n' +
        '  $ waybill approvals sign --key file:kate.jwk --as kate --tenant acme \\\n' +
        '      --about action/refund-1138 --request refund.json --expires 30m\n',
    )
    .action(sign);
}

async function sign(options: SignOptions): Promise<void> {
  const iat = Math.floor(Date.now() / 1000);
  const key = await signerOf(options.key);
  const { didOfKey } = await import('../../signing/did-key.js');
  const claims = ApprovalClaims.safeParse({
    ...{ iss: didOfKey(key.publicJwk.x), sub: options.as, tenant: options.tenant },
    ...{ about: options.about, request_digest: digestOf(options), jti: randomUUID() },
    ...{ iat, exp: iat + Math.floor(options.expires / 1000) },
  });
  if (!claims.success) throw wrong(claims.error.issues[0]);
  const { signApproval } = await import('../../signing/approvals/sign.js');
  printLine(await signApproval(claims.data, key));
}

/** The form of a request by which Waybill knows it, too. */
function digestOf({ request, digest }: SignOptions): string {
  if ((request === undefined) === (digest === undefined)) {
    throw invalid('--request', 'give either the request or its --digest');
  }
  if (request === undefined) return digest ?? '';
  return createHash('sha256').update(canonicalJson(request.value)).digest('hex');
}

const OPTION_OF: Readonly<Record<string, string>> = {
  sub: '--as',
  request_digest: '--digest',
  exp: '--expires',
};

function wrong(
  issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined,
): WaybillError {
  const claim = String(issue?.path[0] ?? '');
  return invalid(OPTION_OF[claim] ?? `--${claim}`, issue?.message ?? 'is wrong');
}

function invalid(option: string, problem: string): WaybillError {
  return new WaybillError('config_invalid', `${option}: ${problem}`, { field: option });
}
