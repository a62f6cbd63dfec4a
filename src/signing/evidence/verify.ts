import { compactVerify, EmbeddedJWK } from 'jose';
import { signatureAlgorithm } from '../keys';

/**
 * Whether a statement that can be read (`readStatement`) is signed with the key in its own header.
 * That proves who signed it and no more: whether that key is trusted is the deployment's question.
 */
export async function isSignedStatement(jws: string): Promise<boolean> {
  try {
    await compactVerify(jws, EmbeddedJWK, { algorithms: [signatureAlgorithm] });
    return true;
  } catch {
    // Whatever is wrong with it, nobody has signed it.
    return false;
  }
}
