/**
 * What stands at a host's endpoint answers with another key than the assigned host's, and tokens that
 * were seen on the way are used again. Real worker, real hosts; a proxy stands between them. Verdict:
 * the provider's own records, the rows, and the hosts' signed answers.
 */
import type { ActionRef } from '../../src/domain/action-service';
import type { HostAnswerClaims } from '../../src/domain/host-protocol';
import { openOfPeer, sha256Hex } from '../../src/hosts/protocol/jws';
import { signAnswer } from '../../src/hosts/protocol/answers';
import { routeTokenTrust } from '../../src/hosts/protocol/route-tokens';
import { generateKeyText, importSigningKey, type SigningKey } from '../../src/signing/keys';
import { ActionFaultRig, type Lane } from '../support/action-fault-rig';
import { claimsOf, RecordingProxy, send, type Asked } from '../support/recording-proxy';
import { until } from '../support/until';

const TIMEOUT_MS = 2_000;

let faults: ActionFaultRig;
let lane: Lane;
let proxy: RecordingProxy;
let foreign: SigningKey;
let foreignText: string;

beforeAll(async () => {
  faults = await ActionFaultRig.start();
  // A token of a question is good for 5 s more: short, so that one can be seen to run out.
  await faults.rig.db.rows('update waybill.capabilities set timeout_ms = $1', [TIMEOUT_MS]);
  lane = faults.lane();
  proxy = await RecordingProxy.start(faults.described(0).port);
  foreignText = await generateKeyText();
  foreign = await importSigningKey(foreignText);
  const [host] = await Promise.all([faults.host(0, { port: 0 }), lane.worker()]);
  proxy.upstream = host.url;
});
afterAll(async () => {
  await proxy.stop();
  await faults.stop();
});
afterEach(() => {
  proxy.honest();
});

/** Its outcome is unknown by the host's fault, and its questions are not answered either. */
async function isNotBelieved(ref: ActionRef): Promise<void> {
  const [attempt] = await faults.settled(ref);
  expect(attempt).toMatchObject({ settlement: 'outcome_unknown', cause: 'host' });
  expect(attempt?.evidence).toMatchObject({ reason: 'wrong_signature' });
  await proxy.exchange('POST', ref.actionId);
  await faults.rig.says(ref, /not signed by the assigned host's key/);
  expect(await faults.rig.row(ref)).toMatchObject({ state: 'reconciling', result: null });
}

test("an answer signed by another key is not believed, and the host's own is", async () => {
  proxy.answering = async (_asked, pass) =>
    await signAnswer(claimsOf(await pass()) as unknown as HostAnswerClaims, foreign);
  const ref = await lane.start();
  await isNotBelieved(ref);
  expect(await faults.effects(ref)).toEqual({ assigned: 1, elsewhere: 0 });
  proxy.honest();
  expect((await faults.completes(ref)).attempt?.attemptNo).toBe(1);
});

test('success that somebody else asserts is none: the action is carried out after it', async () => {
  proxy.answering = async (asked) => await signAnswer(assertedBy(asked), foreign);
  const ref = await lane.start('tickets.create_blind');
  await isNotBelieved(ref);
  expect(await faults.effects(ref)).toEqual({ assigned: 0, elsewhere: 0 });
  proxy.honest();
  expect((await faults.completes(ref)).attempt?.attemptNo).toBe(2);
});

test('a host with another key at the endpoint is not believed and does nothing', async () => {
  const assigned = proxy.upstream;
  const trust = routeTokenTrust([await importSigningKey(faults.rig.keyText)]);
  const impostor = await faults.host(0, {
    keyText: foreignText,
    registration: { incarnation: 1, trust },
    storeFile: `${faults.described(0).storeFile}-of-another`,
    port: 0,
  });
  proxy.upstream = impostor.url;
  const ref = await lane.start();
  await isNotBelieved(ref);
  expect(await faults.effects(ref)).toEqual({ assigned: 0, elsewhere: 0 });
  proxy.upstream = assigned;
  await faults.completes(ref);
});

test('a token is good once, for its body, at its host, and for a while', async () => {
  proxy.answering = async (asked, pass) => {
    await pass();
    // The answer is lost: the worker has to ask, with a token of the other kind.
    throw new Error(asked.path);
  };
  const ref = await lane.start();
  await faults.settled(ref);
  proxy.honest();
  await faults.completes(ref);
  const peer = await faults.host(1);
  const sent = proxy.passed.filter(({ path }) => path.includes(ref.actionId));
  const [execute, reconcile] = ['PUT', 'POST'].map((kind) =>
    sent.find(({ method }) => method === kind),
  );
  if (execute === undefined || reconcile === undefined) throw new Error('both were sent');
  const body = Buffer.from(JSON.stringify({ title: 'Another lamp' }));
  expect(await refusal(proxy.upstream, execute)).toBe('token_replayed');
  expect(await refusal(proxy.upstream, { ...execute, body })).toBe('wrong_body');
  expect(await refusal(peer.url, execute, 1)).toBe('wrong_audience');
  expect(await refusal(proxy.upstream, reconcile)).toBe('token_replayed');
  const { exp } = claimsOf(reconcile.authorization);
  await until('it has run out', () => Promise.resolve(Date.now() > Number(exp) * 1_000 || null));
  expect(await refusal(proxy.upstream, reconcile)).toBe('token_expired');
  expect(await faults.effects(ref)).toEqual({ assigned: 1, elsewhere: 0 });
  await faults.balances();
});

/** Sends it to a host once more: what the host, by its own key, refuses it for. */
async function refusal(host: string, asked: Asked, nth: 0 | 1 = 0): Promise<unknown> {
  const answer = await send(host, asked);
  const claims = await openOfPeer(answer, 'waybill-host-answer', faults.described(nth).did);
  const { outcome } = claims as HostAnswerClaims;
  return outcome.kind === 'refused' ? outcome.refusal : outcome.kind;
}

/** An answer to this request as its host would give it. */
function assertedBy({ authorization, body }: Asked): HostAnswerClaims {
  const token = claimsOf(authorization);
  return {
    iss: faults.described(0).did,
    iat: Math.floor(Date.now() / 1_000),
    in_reply_to: String(token['jti']),
    tenant: String(token['tenant']),
    action: String(token['action']),
    fence: Number(token['fence']),
    token_sha256: sha256Hex(authorization.replace(/^Bearer /, '')),
    body_sha256: sha256Hex(body),
    store_epoch: 'another-memory',
    outcome: { kind: 'succeeded', result: { ticketId: 'T-1', reference: null } },
  };
}
