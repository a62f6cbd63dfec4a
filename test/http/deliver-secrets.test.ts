/**
 * Secrets of what is sent: read at each attempt, and kept nowhere. Real: socket, server, Postgres, attempts,
 * signatures. Doubled: the workflow (see the rig).
 */
import { Webhook } from 'standardwebhooks';
import { deliveryId, tenantId } from '../../src/domain/ids';
import { call, DeliverRig, KEYS, TOKEN } from './deliver-rig';

let rig: DeliverRig;
beforeAll(async () => {
  rig = await DeliverRig.start();
});
afterAll(() => rig.stop());
beforeEach(() => {
  rig.env['VENDOR_TOKEN'] = TOKEN;
});

describe('secrets', () => {
  test.each([
    ['bearer', 'authorization', `Bearer ${TOKEN}`],
    ['basic', 'authorization', `Basic ${Buffer.from(`eu 1:${TOKEN}`).toString('base64')}`],
    ['header', 'x-api-key', `Key ${TOKEN}`],
  ])('%s goes with the request', async (operation, header, value) => {
    await rig.delivered(call({ operation }));
    expect(rig.vendor.calls.at(-1)?.headers[header]).toBe(value);
  });

  test('one that was rotated is used by the next attempt', async () => {
    rig.vendor.answers.push({ status: 503 });
    rig.vendor.decide = () => {
      rig.env['VENDOR_TOKEN'] = 'rotated';
      return null;
    };
    const calls = rig.vendor.calls.length;
    await rig.delivered(call({ operation: 'bearer' }));
    rig.vendor.decide = () => null;
    const seen = rig.vendor.calls.slice(calls).map(({ headers }) => headers.authorization);
    expect(seen).toEqual([`Bearer ${TOKEN}`, 'Bearer rotated']);
  });

  test('both signatures of a rotation are verified by the library of Standard Webhooks', async () => {
    await rig.delivered(call({ operation: 'signed', payload: { n: 7 } }));
    const last = rig.vendor.calls.at(-1);
    for (const key of KEYS) {
      const verified = new Webhook(key).verify(
        String(last?.body),
        last?.headers as Record<string, string>,
      );
      expect(verified).toEqual({ n: 7 });
    }
  });

  test('B025: a retry and a replay are signed anew, with the secret of then, under the same id', async () => {
    const keys = ['aaaa', 'bbbb', 'cccc'].map((text) => `whsec_${btoa(text.repeat(6))}`);
    const left = [...keys];
    rig.vendor.decide = () => {
      rig.env['NEW_KEY'] = left.shift() ?? '';
      return null;
    };
    rig.env['NEW_KEY'] = left.shift() ?? '';
    rig.vendor.answers.push({ status: 503 }, { status: 404 });
    const before = rig.vendor.calls.length;
    const { deliveryId: id } = await rig.delivered(
      call({ operation: 'signed', payload: { n: 8 } }),
    );
    const json = { reason: 'the path is right now' };
    const replayed = await rig.h.call(`/factory/deliveries/${id}/replay`, { json });
    expect(replayed.status).toBe(202);
    await rig.attempted({ tenantId: tenantId('acme'), deliveryId: deliveryId(id) });
    rig.vendor.decide = () => null;
    rig.env['NEW_KEY'] = KEYS[1];
    const calls = rig.vendor.calls.slice(before);
    expect(calls.map(({ headers }) => headers['webhook-id'])).toEqual([id, id, id]);
    calls.forEach(({ body, headers }, nth) => {
      const verify = (key = '') =>
        new Webhook(key).verify(String(body), headers as Record<string, string>);
      expect(verify(keys[nth])).toEqual({ n: 8 });
      if (nth > 0) expect(() => verify(keys[nth - 1])).toThrow('No matching signature');
    });
    expect((await rig.show(id)).attemptHistory).toMatchObject([
      ...[
        { attempt: 1, series: 1, status: 503 },
        { attempt: 2, series: 1, status: 404 },
      ],
      { attempt: 3, series: 2, outcome: 'acknowledged' },
    ]);
  });

  test('one that cannot be read, or stand in a header, sends nothing and is not told', async () => {
    for (const value of [undefined, 'two\nlines']) {
      if (value === undefined) delete rig.env['VENDOR_TOKEN'];
      else rig.env['VENDOR_TOKEN'] = value;
      const failed = await rig.delivered(call({ operation: 'bearer' }));
      expect(failed).toMatchObject({
        state: 'Failed',
        reason: 'secret_unavailable',
        uncertain: false,
      });
      expect(JSON.stringify(failed)).not.toContain('lines');
    }
  });

  test('B060: none is in a row, an answer or the log, not even where the vendor repeats the request', async () => {
    const forms = [
      ...[TOKEN, encodeURIComponent(TOKEN), JSON.stringify(TOKEN).slice(1, -1)],
      ...[Buffer.from(`eu 1:${TOKEN}`).toString('base64'), ...KEYS],
    ];
    rig.vendor.decide = ({ path, headers }) => ({
      status: 400,
      body: JSON.stringify({ path, headers, said: headers.authorization }),
    });
    const answers = [];
    for (const operation of ['bearer', 'basic', 'header', 'query', 'signed']) {
      answers.push(await rig.delivered(call({ operation })));
    }
    rig.vendor.decide = () => null;
    expect(rig.vendor.calls.at(-2)?.path).toContain(encodeURIComponent(TOKEN));
    expect(answers[0]?.answerHead).toContain('[secret]');
    const tables = await rig.h.db.rows<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'waybill'`,
    );
    const rows = [];
    for (const { name } of tables)
      rows.push(await rig.h.db.rows(`select x::text as x from ${name} x`));
    const everything = JSON.stringify([answers, rows]) + rig.h.log.join('');
    const escaped = forms.flatMap((form) => [form, JSON.stringify(form).slice(1, -1)]);
    expect(escaped.filter((form) => everything.includes(form))).toEqual([]);
  });
});
