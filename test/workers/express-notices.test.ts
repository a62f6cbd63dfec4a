/** Notices to the loop of the express lane. Doubled: Postgres, which refuses the first one. */
import pino from 'pino';
import { ExpressNotices } from '../../src/workers/express-notices';
import { until } from '../support/until';

test('one that is given while another fails is sent all the same', async () => {
  let sent = 0;
  const notices = new ExpressNotices(
    () => {
      sent += 1;
      if (sent > 1) return Promise.resolve();
      notices.give();
      return Promise.reject(new Error('Postgres is away'));
    },
    pino({ level: 'silent' }),
  );
  notices.give();
  await until('the second one is sent', () => Promise.resolve(sent === 2 ? true : null));
});
