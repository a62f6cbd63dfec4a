/** What a target answers may repeat what it was sent: secrets are taken out of what is kept of it. */

/** Replaces each of these values, in whatever form it stands there. */
export function redaction(secrets: readonly string[]): (text: string) => string {
  const forms = secrets.flatMap((value) => [
    ...[value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)],
    Buffer.from(value, 'utf8').toString('base64'),
  ]);
  const longestFirst = [...new Set(forms)].sort((one, other) => other.length - one.length);
  return (text) => longestFirst.reduce((left, form) => left.replaceAll(form, '[secret]'), text);
}

/** Shorter ones are words. */
const TOKEN_LENGTH = 16;
const VALUE_LENGTH = 4;

/** What may be secret in an address: values of its query, and steps of its path that are no words. */
export function addressSecrets(url: string): string[] {
  const { pathname, searchParams, search } = new URL(url);
  const raw = search
    .slice(1)
    .split('&')
    .map((pair) => pair.slice(pair.indexOf('=') + 1));
  const values = [...searchParams.values(), ...raw].filter(({ length }) => length >= VALUE_LENGTH);
  const steps = pathname.split('/').filter(({ length }) => length >= TOKEN_LENGTH);
  return [...values, ...steps];
}
