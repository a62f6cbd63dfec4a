/** What the SQLite driver promises with the engine that this Node has. Doubled: nothing. */
import { isBusy, openSqlite, type SqliteDatabase } from '../../src/hosts/sqlite';
import { Folder } from './support/fixtures';

const folder = new Folder();
afterAll(() => {
  folder.remove();
});

let file = '';
let db: SqliteDatabase;
beforeEach(() => {
  file = folder.file(expect.getState().currentTestName ?? '');
  db = openSqlite(file, { busyTimeoutMs: 10 });
  db.exec('create table if not exists notes (id integer primary key, text text unique) strict');
});
afterEach(() => {
  db.close();
});

const rows = (): unknown[] => db.prepare('select id, text from notes order by id').all();

test('takes parameters by place and by name, and counts changes', () => {
  expect(db.prepare('insert into notes values (?, ?)').run(1, null).changes).toBe(1);
  const named = db.prepare('insert into notes values (@id, @text)');
  expect(named.run({ id: 1_767_225_600_000_001, text: 'ü' }).changes).toBe(1);
  expect(db.prepare("update notes set text = 'x' where id = ?").run(7).changes).toBe(0);
  expect(rows()).toEqual([
    { id: 1, text: null },
    { id: 1_767_225_600_000_001, text: 'ü' },
  ]);
  expect(db.prepare('select id from notes where id = ?').get(7)).toBeUndefined();
});

test('a transaction commits its answer, and rolls back what throws', () => {
  const insert = db.prepare('insert into notes values (?, ?)');
  expect(db.immediate(() => insert.run(1, 'kept').changes)).toBe(1);
  const twice = (): unknown => db.immediate(() => [insert.run(2, 'a'), insert.run(3, 'a')]);
  expect(twice).toThrow(/UNIQUE constraint failed/);
  expect(rows()).toEqual([{ id: 1, text: 'kept' }]);
  expect(db.immediate(() => 'again')).toBe('again');
});

test('an error that SQLite itself rolled back for is the one that is thrown', () => {
  const insert = db.prepare('insert or rollback into notes values (?, ?)');
  const twice = (): unknown => db.immediate(() => [insert.run(2, 'a'), insert.run(3, 'a')]);
  expect(twice).toThrow(/UNIQUE constraint failed/);
  expect(rows()).toEqual([]);
});

test('tells a busy file from other errors', () => {
  const other = openSqlite(file, { busyTimeoutMs: 10 });
  const errorOf = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };
  const busy = db.immediate(() => errorOf(() => other.immediate(() => null)));
  expect(isBusy(busy)).toBe(true);
  const wrong = errorOf(() => {
    db.exec('select id from nowhere');
  });
  expect(wrong).toHaveProperty('message', expect.stringMatching('no such table'));
  expect(isBusy(wrong)).toBe(false);
  other.close();
});

test('closes once, and closing it again does nothing', () => {
  db.close();
  db.close();
  expect(() => rows()).toThrow();
});
