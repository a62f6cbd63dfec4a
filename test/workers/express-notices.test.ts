/** Notices to the loop of the express lane. Doubled: Postgres, which refuses the first one. */
import pino from 'pino';
import { tenantId } from '../../src/domain/ids';
import { ExpressNotices } from '../../src/workers/express-notices';
import { until } from '../support/until';

test('somebody else may give the next one, and then nobody for a moment', async () => {
  const sent: (readonly string[])[] = [];
  const notices = new ExpressNotices(
    (tenants) => Promise.resolve(void sent.push(tenants)),
    pino({ level: 'silent' }),
  );
  expect(notices.takesTurn()).toBe(true);
  expect(notices.takesTurn()).toBe(false);
  notices.give(tenantId('acme'));
  expect(sent).toEqual([]);
  await until('it is sent', () => Promise.resolve(sent.length === 1 ? true : null));
  await until('it is quiet', () => Promise.resolve(notices.takesTurn() ? true : null));
  expect(sent).toEqual([['acme']]);
});

test('one that is given while another fails is sent all the same, and tells of each tenant once', async () => {
  const [acme, zoo] = [tenantId('acme'), tenantId('zoo')];
  const sent: (readonly string[])[] = [];
  const notices = new ExpressNotices(
    (tenants) => {
      sent.push(tenants);
      if (sent.length > 1) return Promise.resolve();
      for (const tenant of [zoo, acme, zoo]) notices.give(tenant);
      return Promise.reject(new Error('Postgres is away'));
    },
    pino({ level: 'silent' }),
  );
  notices.give(acme);
  await until('the second one is sent', () => Promise.resolve(sent.length === 2 ? true : null));
  expect(sent).toEqual([['acme'], ['zoo', 'acme']]);
});
