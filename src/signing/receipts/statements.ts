/** Checkpoints and exports as signed statements, beside the receipts that they are about. */
import { CompactSign } from 'jose';
import { z } from 'zod';
import type { ChainHead, CheckpointPayload, ExportPayload } from '../../domain/checkpoints';
import { signatureAlgorithm, type SigningKey } from '../keys';

/** They keep the statements apart from each other and from receipts, which one key signs. */
export const checkpointType = 'waybill-receipt-checkpoint';
export const exportType = 'waybill-receipt-export';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Ordinal = z.int().positive();

const envelope = {
  iss: z.literal('waybill'),
  v: z.literal(1),
  tenant: z.string(),
  at: z.iso.datetime({ offset: true }),
};
const checkpoint = { ...envelope, no: Ordinal, prev: Sha256.nullable() };

/** Strict, like a receipt's payload. */
export const CheckpointPayloadSchema: z.ZodType<CheckpointPayload> = z.discriminatedUnion('kind', [
  z.strictObject({ ...checkpoint, kind: z.literal('chains'), chains: Ordinal, root: Sha256 }),
  z.strictObject({
    ...checkpoint,
    kind: z.literal('pruned'),
    through: Ordinal,
    throughDigest: Sha256,
  }),
]);

export const ExportPayloadSchema: z.ZodType<ExportPayload> = z.strictObject({
  ...envelope,
  chains: z.int().nonnegative(),
  root: Sha256,
  asOf: z.int().nonnegative(),
  head: z.strictObject({ no: Ordinal, digest: Sha256 }).nullable(),
});

/** The bytes by which a chain's head is a leaf of a Merkle tree. */
export function leafOf({ subject, seq, digest }: ChainHead): Buffer {
  return Buffer.from(JSON.stringify([subject, seq, digest]), 'utf8');
}

export async function signCheckpoint(payload: CheckpointPayload, key: SigningKey): Promise<string> {
  return await sign(CheckpointPayloadSchema.parse(payload), checkpointType, key);
}

export async function signExport(payload: ExportPayload, key: SigningKey): Promise<string> {
  return await sign(ExportPayloadSchema.parse(payload), exportType, key);
}

async function sign(payload: object, typ: string, key: SigningKey): Promise<string> {
  return await new CompactSign(Buffer.from(JSON.stringify(payload), 'utf8'))
    .setProtectedHeader({ alg: signatureAlgorithm, kid: key.kid, typ })
    .sign(key.privateKey);
}
