/** Real: the published Standard Webhooks library verifies; the shipped scheme verifies as well. */
import { Webhook } from 'standardwebhooks';
import { compileScheme } from '../../../src/signing/webhooks/compile';
import { signStandardWebhook } from '../../../src/signing/webhooks/standard-sign';
import { verify } from '../../../src/signing/webhooks/verify';
import { requestOf, shippedScheme } from './fixtures';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const nextSecret = 'whsec_plJ3nmyCDGBKInavdOK15jsl';
const text = '{"test": "é 😀"}';

// The library reads the process clock, so a request for it is signed now.
function signNow(secrets: string[], body = Buffer.from(text)) {
  return { ...signStandardWebhook({ id: 'msg_1', sentAtMs: Date.now(), body, secrets }) };
}

it('is the published vector for the published input', () => {
  const headers = signStandardWebhook({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    sentAtMs: 1_614_265_330_999,
    body: Buffer.from('{"test": 2432232314}'),
    secrets: [secret],
  });
  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

it('is accepted by the published library, under the old and the new secret of a rotation', () => {
  const headers = signNow([nextSecret, secret]);
  for (const known of [secret, nextSecret]) {
    expect(new Webhook(known).verify(text, headers)).toEqual(JSON.parse(text));
  }
  const other = new Webhook('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
  expect(() => other.verify(text, headers)).toThrow('No matching signature');
  expect(() => new Webhook(secret).verify(`${text} `, headers)).toThrow('No matching signature');
});

it('is over bytes, also where they are not UTF-8', async () => {
  const body = Buffer.from([0xff, 0x00, 0xe9]);
  const headers = Object.entries(signNow([secret], body));
  const compiled = compileScheme(shippedScheme('standard-webhooks'));
  const secrets = [{ id: 's', value: secret }];
  const result = await verify(compiled, requestOf(headers, body), secrets, { receivedAtMs: 0 });
  expect(result).toMatchObject({ ok: true, secretId: 's' });
});

it('never sends unsigned, and never quotes a secret', () => {
  expect(() => signNow([])).toThrow('no signing secret');
  expect(() => signNow([secret, ''])).toThrow('not a whsec_ key');
  expect(() => signNow(['planted!'])).toThrow(/^a signing secret is not a whsec_ key$/);
});
