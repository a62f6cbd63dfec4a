/** The page for people. Nothing is started. */
import type { CaseRecord, Summary } from '../../src/qualification/evidence/records';
import { reportHtml } from '../../src/qualification/evidence/report';

const at = (s: number) => new Date(s * 1000).toISOString();

const summary: Summary = {
  ...{ status: 'failed', runId: 'r1', plan: 'chosen', startedAt: at(0), completedAt: at(9) },
  cases: { planned: 1, passed: 0, failed: 1 },
  failures: ['baseline: <b>wrong</b>'],
  source: {
    package: { name: 'waybill', version: '0.1.0' },
    git: null,
    build: { dist: 'd', migrations: 'm', lockFile: null },
  },
};
const record: CaseRecord = {
  ...{ case: 'baseline', title: 'The baseline', invariant: 'It holds.', status: 'failed' },
  ...{ startedAt: at(1), endedAt: at(5), error: null, calls: [] },
  inflicted: [{ at: at(2), fault: { kind: 'kill', process: 'edge' } }],
  findings: [
    { what: 'effects', accepted: 1, found: 2 },
    { what: '"quoted" <script>', accepted: true, found: null },
  ],
};
const events = [
  { at: at(3), process: 'edge', event: 'killed' },
  { at: at(8), process: 'edge', event: 'ready' },
];

test('it shows the matrix, what was found beside what is accepted, and the time line of each case', () => {
  const html = reportHtml(summary, [record], events);
  expect(html).toContain(
    '<td><a href="#baseline">baseline</a></td><td class="failed">failed</td><td>4.0</td>',
  );
  expect(html).toContain('<td>effects</td><td class="failed">2</td><td>1</td>');
  expect(html).toContain('<td>2.00</td><td>edge: killed</td>');
  expect(html).not.toContain('edge: ready');
});

test('nothing that was found is taken for markup, and nothing comes from elsewhere', () => {
  const html = reportHtml(summary, [record], events);
  expect(html).toContain('&quot;quoted&quot; &lt;script&gt;');
  expect(html).not.toMatch(/<script|<b>wrong|src=|https?:/);
});
