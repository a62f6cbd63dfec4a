/** Which tokens a process of the API takes, by its settings. */
import { WaybillError } from '../domain/errors';
import { isLoopback } from '../domain/loopback';
import type { TokenVerifier } from '../http/tokens';
import { developmentTokens } from '../http/tokens/development';
import { jwksTokens } from '../http/tokens/jwks';
import type { Config } from '../schemas/config';
import { importSigningKey } from '../signing/keys';
import { developmentKeyText } from './signing-keys';

/** Given the time that it is for tokens, in ms since the epoch. */
export type TokensAt = (nowMs: () => number) => TokenVerifier;

/** @throws WaybillError `config_invalid`, `dev_key_outside_loopback` */
export async function tokenVerifier(config: Config): Promise<TokensAt> {
  const { jwksUrl, issuer, audience } = config.tokens;
  if (jwksUrl !== null) {
    if (issuer === null) {
      throw new WaybillError(
        'config_invalid',
        'WAYBILL_TOKEN_JWKS_URL needs WAYBILL_TOKEN_ISSUER',
        {
          field: 'WAYBILL_TOKEN_ISSUER',
        },
      );
    }
    return (nowMs) => jwksTokens({ jwksUrl: new URL(jwksUrl), issuer, audience, nowMs });
  }
  if (!isLoopback(config.http.host)) {
    throw new WaybillError(
      'dev_key_outside_loopback',
      `WAYBILL_HOST is ${config.http.host}: set WAYBILL_TOKEN_JWKS_URL, or listen on 127.0.0.1`,
    );
  }
  const key = await importSigningKey(await developmentKeyText(config));
  return (nowMs) => developmentTokens(key.publicJwk, nowMs);
}
