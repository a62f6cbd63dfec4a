/** The secrets that sign what Waybill sends: of targets and of event sinks. */
import { SecretError, type SecretProvider } from '../secrets/provider';
import { decodeKey } from '../signing/webhooks/encodings';

/**
 * The values of these references, in their order.
 * @throws SecretError that names the reference of one that cannot be read, or is no `whsec_` key
 */
export async function signingSecrets(
  provider: SecretProvider,
  refs: readonly string[],
): Promise<string[]> {
  return await Promise.all(refs.map((ref) => signingSecret(provider, ref)));
}

async function signingSecret(provider: SecretProvider, ref: string): Promise<string> {
  const secret = (await provider.resolve(ref)).value.reveal();
  if (decodeKey('whsec', secret) !== null) return secret;
  throw new SecretError('no_key', `secret ${ref} is no whsec_ key`);
}
