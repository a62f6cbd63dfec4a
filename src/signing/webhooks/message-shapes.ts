/** The parts of messages that have the shape of one vendor, as nothing general describes them. */
import type { Unverified } from '../../domain/verification';
import { textAt } from './payload';
import { refuse } from './refusals';
import type { Fields, RequestView } from './view';
import { readField } from './view';

const adyenFields = [
  ...['pspReference', 'originalReference', 'merchantAccountCode', 'merchantReference'],
  ...['amount.value', 'amount.currency', 'eventCode', 'success'],
];

/** The signed fields of one notification item, absent ones empty. */
export function adyenItemText(item: unknown): string {
  return adyenFields.map((path) => textAt(item, path) ?? '').join(':');
}

const confirmation = [
  'Message',
  'MessageId',
  'SubscribeURL',
  'Timestamp',
  'Token',
  'TopicArn',
  'Type',
];
const snsFields: ReadonlyMap<string, readonly string[]> = new Map([
  ['Notification', ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']],
  ['SubscriptionConfirmation', confirmation],
  ['UnsubscribeConfirmation', confirmation],
]);
const snsCertificateHost = /^sns\.[a-z0-9-]{3,30}\.amazonaws\.com(\.cn)?$/;

/** The lines of a message of Amazon SNS; its certificate must be said to come from there. */
export function snsText(view: RequestView): string | Unverified {
  const text = (name: string): string | null => textAt(view.json, name);
  const fields = snsFields.get(text('Type') ?? '');
  if (fields === undefined)
    return refuse('unreadable_body', 'the body is no message of a known Type');
  const certificate = text('SigningCertURL') ?? text('SigningCertUrl');
  if (certificate !== null && !isSnsCertificate(certificate)) {
    return refuse('untrusted_certificate', "SigningCertURL is no https address of the vendor's");
  }
  return fields
    .map((name) => [name, text(name)] as const)
    .filter(([name, value]) => name !== 'Subject' || value !== null)
    .map(([name, value]) => `${name}\n${value ?? ''}\n`)
    .join('');
}

function isSnsCertificate(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : null;
  return (
    url?.protocol === 'https:' &&
    url.port === '' &&
    url.username === '' &&
    url.password === '' &&
    snsCertificateHost.test(url.hostname) &&
    url.pathname.endsWith('.pem')
  );
}

/** More names than this in a list of signed headers are refused unread. */
const maxSignedHeaders = 50;

/**
 * `name:value` of each header that `x-contentful-signed-headers` lists, joined by `;`.
 *
 * @param timestampHeader must be among them, or its time would not be signed; null: no such header
 */
export function contentfulText(
  view: RequestView,
  timestampHeader: string | null,
): string | Unverified {
  const list = view.header('x-contentful-signed-headers');
  if (list.found === 'several') return refuse('repeated_header', 'several lists of signed headers');
  const listed = list.found === 'one' ? list.text.split(',', maxSignedHeaders + 1) : [];
  const names = listed.map((name) => name.trim().toLowerCase()).filter((name) => name !== '');
  const values = signedValues(view, names, timestampHeader);
  if ('ok' in values) return values;
  return names.map((name, index) => `${name}:${values[index] ?? ''}`).join(';');
}

/** The names in the pair `h` joined by a blank, a dot, and the values joined by dots. */
export function hook0Text(
  view: RequestView,
  pairs: Fields,
  timestampHeader: string | null,
): string | Unverified {
  const list = readField(pairs, 'h');
  if (list.found === 'several') return refuse('repeated_header', 'several lists of signed headers');
  const listed = list.found === 'one' ? list.text.split(' ', maxSignedHeaders + 1) : [];
  const names = listed.filter((name) => name !== '');
  const values = signedValues(view, names, timestampHeader);
  return 'ok' in values ? values : `${names.join(' ')}.${values.join('.')}`;
}

function signedValues(
  view: RequestView,
  names: readonly string[],
  timestampHeader: string | null,
): readonly string[] | Unverified {
  if (names.length === 0) return refuse('missing_header', 'the request lists no signed headers');
  if (names.length > maxSignedHeaders) {
    return refuse('missing_header', `more than ${maxSignedHeaders} headers are listed as signed`);
  }
  const lower = names.map((name) => name.toLowerCase());
  if (timestampHeader !== null && !lower.includes(timestampHeader)) {
    return refuse('unsigned_timestamp', 'the timestamp is not among the signed headers');
  }
  const values: string[] = [];
  for (const name of lower) {
    const read = view.header(name);
    if (read.found === 'several')
      return refuse('repeated_header', 'a signed header has several values');
    if (read.found === 'none')
      return refuse('missing_header', 'a header listed as signed is missing');
    values.push(read.text.trim());
  }
  return values;
}
