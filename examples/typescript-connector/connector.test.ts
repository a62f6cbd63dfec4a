/** What becomes of a note when the host is killed, with a Waybill that this test plays: node --test dist */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { TestWaybill } from 'waybill/host-kit/testing';
import { connector } from './connector.js';

test('killed once the note is there, the host finds it again: one note an action', async (t) => {
  process.chdir(mkdtempSync(path.join(tmpdir(), 'notes-')));
  const waybill = await TestWaybill.start();
  t.after(() => waybill.stop());
  const host = await waybill.host(connector);

  const action = host.action('notes.add', { text: 'Broken lamp' });
  const first = await action.execute();
  assert.equal(first.kind, 'succeeded');
  assert.deepEqual(await action.execute(), first);

  const crashed = host.action('notes.add', { text: 'Another' });
  await host.killAt('provider_response_received', crashed);
  await host.restart();
  assert.equal((await crashed.reconcile()).kind, 'succeeded');

  assert.equal(readFileSync('notes.jsonl', 'utf8').trimEnd().split('\n').length, 2);
});
