/** Pure functions: what an answer may repeat of a request, in whatever form. */
import { addressSecrets, redaction } from '../../src/targets/redaction';

it('takes values out in every form that they may stand in', () => {
  const secret = 'a "secret" value+/';
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64'),
  ];
  expect(redaction([secret])(forms.join(' | '))).toBe(Array(4).fill('[secret]').join(' | '));
  expect(redaction([])('nothing is secret')).toBe('nothing is secret');
});

it.each([
  ['https://ci.example/hooks/push', []],
  ['https://ci.example/hooks?v=1', []],
  ['https://ci.example/hooks?token=abcd%20ef', ['abcd ef', 'abcd%20ef']],
  ['https://chat.example/services/T01/XXXXXXXXXXXXXXXXXXXX', ['XXXXXXXXXXXXXXXXXXXX']],
])('of %s this may be secret: %j', (url, secrets) => {
  expect(addressSecrets(url)).toEqual(secrets);
});
