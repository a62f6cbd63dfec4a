/** The evidence as one page for people: no server, no script, nothing from elsewhere. */
import type { CaseRecord, Summary } from './records';

export interface ReportEvent {
  readonly at: string;
  readonly process: string;
  readonly event: string;
}

/** @param events of processes, in order; each case shows those of its own time */
export function reportHtml(
  summary: Summary,
  records: readonly CaseRecord[],
  events: readonly ReportEvent[],
): string {
  const { status, plan, runId, startedAt, completedAt, cases, failures, source } = summary;
  const commit = source.git === null ? 'no clone' : source.git.commit;
  const changed = source.git?.changed.length ?? 0;
  return page(`
<h1>Qualification: <span class="${status}">${status}</span></h1>
<p>${escape(plan)} run ${escape(runId)}, ${escape(startedAt)} to ${escape(completedAt)};
${cases.passed} of ${cases.planned} cases passed.</p>
<p>${escape(source.package.name)} ${escape(source.package.version)}, commit ${escape(commit)}${
    changed === 0 ? '' : ` with ${changed} changed files`
  }, build ${escape(source.build.dist)}</p>
${failures.length === 0 ? '' : `<ul>${failures.map((one) => `<li>${escape(one)}</li>`).join('')}</ul>`}
<table><tr><th>case</th><th>status</th><th>seconds</th><th>must hold</th></tr>
${records.map(matrixRow).join('\n')}
</table>
${records.map((record) => caseSection(record, events)).join('\n')}`);
}

function matrixRow(record: CaseRecord): string {
  const name = escape(record.case);
  return (
    `<tr><td><a href="#${name}">${name}</a></td><td class="${record.status}">${record.status}</td>` +
    `<td>${secondsOf(record)}</td><td>${escape(record.invariant)}</td></tr>`
  );
}

function caseSection(record: CaseRecord, events: readonly ReportEvent[]): string {
  const { startedAt, endedAt, inflicted, findings, error } = record;
  const line = [
    ...inflicted.map(({ at, fault }) => ({ at, text: `done: ${JSON.stringify(fault)}` })),
    ...events
      .filter(({ at }) => at >= startedAt && at <= endedAt)
      .map(({ at, process, event }) => ({ at, text: `${process}: ${event}` })),
  ].sort((one, other) => one.at.localeCompare(other.at));
  const since = (at: string) => ((Date.parse(at) - Date.parse(startedAt)) / 1000).toFixed(2);
  return `<h2 id="${escape(record.case)}">${escape(record.title)}</h2>
${error === null ? '' : `<p class="failed">${escape(error)}</p>`}
<table><tr><th>found</th><th>count or value</th><th>accepted</th></tr>
${findings
  .map(({ what, found, accepted }) => {
    const row = [what, String(found ?? 'not looked at'), String(accepted)].map(escape);
    const kind = found === accepted ? 'passed' : 'failed';
    return `<tr><td>${row[0] ?? ''}</td><td class="${kind}">${row[1] ?? ''}</td><td>${row[2] ?? ''}</td></tr>`;
  })
  .join('\n')}
</table>
<table><tr><th>after s</th><th>what happened</th></tr>
${line.map(({ at, text }) => `<tr><td>${since(at)}</td><td>${escape(text)}</td></tr>`).join('\n')}
</table>`;
}

function secondsOf({ startedAt, endedAt }: CaseRecord): string {
  return ((Date.parse(endedAt) - Date.parse(startedAt)) / 1000).toFixed(1);
}

function escape(text: string): string {
  const named: Readonly<Record<string, string>> = {
    ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
  };
  return text.replaceAll(/[&<>"']/g, (character) => named[character] ?? '');
}

function page(body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Waybill qualification</title>
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body { font: 15px/1.4 sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
th, td { border: 1px solid #ccc; padding: 0.2rem 0.6rem; text-align: left; vertical-align: top; }
.passed { color: #176b2c; } .failed { color: #a11; font-weight: bold; }
</style></head><body>${body}
</body></html>
`;
}
