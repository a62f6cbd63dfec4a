/** `waybill evidence sign`: one statement, as a document of a fleet file. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Option, type Command } from 'commander';
import { WaybillError } from '../../domain/errors';
import { EVIDENCE_KINDS, EvidenceClaims } from '../../schemas/evidence-statements';
import { EvidenceDocument } from '../../schemas/fleet/evidence-documents';
import { fleetText } from '../../schemas/fleet/yaml-texts';
import { parseDuration } from '../support/instants';
import { signerOf } from '../support/signers';

interface SignOptions {
  readonly key: string;
  readonly id: string;
  readonly connector: string;
  readonly connectorVersion: string;
  readonly kind: string;
  readonly artifact: string;
  readonly manifest?: string;
  readonly document: string;
  readonly ref?: string;
  readonly fail?: true;
  /** Milliseconds. */
  readonly expires?: number;
}

export function addSign(evidence: Command): void {
  evidence
    .command('sign')
    .description('Sign a statement about a connector version; print its document for a fleet file.')
    .requiredOption(
      '--key <reference>',
      "the signer's private key: env:NAME, file:PATH, vault:MOUNT/PATH#KEY",
    )
    .requiredOption('--id <id>', 'the id of the document')
    .requiredOption('--connector <id>', 'the connector')
    .requiredOption('--connector-version <version>', 'its version')
    .addOption(
      new Option('--kind <kind>', 'what is stated').choices(EVIDENCE_KINDS).makeOptionMandatory(),
    )
    .requiredOption('--artifact <digest>', "the version's artifactDigest")
    .option('--manifest <digest>', "the version's manifestDigest, where it has one")
    .requiredOption('--document <file>', 'what the statement rests on; its digest is stated')
    .option('--ref <text>', 'where people find that document')
    .option('--fail', 'the verdict is fail (of a revocation it always is)')
    .option(
      '--expires <duration>',
      'how long it counts, e.g. 90d (default: for ever)',
      parseDuration,
    )
    .addHelpText(
      'after',
      '\nExample:\n' +
        '  $ waybill evidence sign --key file:release.jwk --id tracker-2.0.0-sbom --kind sbom \\\n' +
        '      --connector tracker --connector-version 2.0.0 --artifact "$ARTIFACT" \\\n' +
        '      --manifest "$MANIFEST" --document sbom.json --expires 90d >> fleet.yaml\n',
    )
    .action(sign);
}

async function sign(options: SignOptions): Promise<void> {
  const now = Date.now();
  const { kind, expires } = options;
  const claims = EvidenceClaims.safeParse({
    ...{ v: 1, connector: options.connector, version: options.connectorVersion, kind },
    ...{ artifactDigest: options.artifact, manifestDigest: options.manifest ?? null },
    contentDigest: await digestOf(options.document),
    contentRef: options.ref ?? null,
    verdict: options.fail === true || kind === 'revocation' ? 'fail' : 'pass',
    issuedAt: new Date(now).toISOString(),
    expiresAt: expires === undefined ? null : new Date(now + expires).toISOString(),
  });
  if (!claims.success) throw wrong(claims.error.issues[0]);
  const { signStatement } = await import('../../signing/evidence/sign.js');
  const statement = await signStatement(claims.data, await signerOf(options.key));
  const document = { kind: 'Evidence', id: options.id, statement };
  const checked = EvidenceDocument.safeParse(document);
  if (!checked.success) throw wrong(checked.error.issues[0]);
  process.stdout.write(`---\n${fleetText([document])}`);
}

/** SHA-256 (hex) of a file of any size. */
async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const part of createReadStream(file)) hash.update(part as Buffer);
  } catch (error) {
    throw invalid('--document', error);
  }
  return hash.digest('hex');
}

const OPTION_OF: Readonly<Record<string, string>> = {
  version: '--connector-version',
  artifactDigest: '--artifact',
  manifestDigest: '--manifest',
  contentRef: '--ref',
  expiresAt: '--expires',
};

function wrong(
  issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined,
): WaybillError {
  const field = String(issue?.path[0] ?? '');
  return invalid(OPTION_OF[field] ?? `--${field}`, new Error(issue?.message));
}

function invalid(option: string, error: unknown): WaybillError {
  const reason = error instanceof Error ? error.message : String(error);
  return new WaybillError('config_invalid', `${option}: ${reason}`, {
    field: option,
    cause: error,
  });
}
