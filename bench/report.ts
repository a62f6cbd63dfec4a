/** The results: a table for people, one JSON array for programs. */
import { renderTable } from '../src/cli/support/table';
import { isBalanced, isMet, ratioOf, type Costs, type Figure } from './benchmark';
import type { Spread } from './rounds';

/** What `--json` prints of a figure. */
export interface FigureAnswer {
  readonly id: string;
  readonly value: number;
  readonly valueRange: readonly [number, number];
  /** Null where there is nothing to compare with; so is all that comes of it. */
  readonly baseline: number | null;
  readonly baselineRange: readonly [number, number] | null;
  readonly ratio: number | null;
  /** Round by round. */
  readonly ratioRange: readonly [number, number] | null;
  /** Null: it is only measured. */
  readonly goal: number | null;
  readonly met: boolean;
  readonly balanced: boolean;
  readonly costs?: { readonly value: CostsAnswer; readonly baseline: CostsAnswer };
}

interface CostsAnswer {
  readonly latencyMs: { readonly p50: number; readonly p95: number };
  readonly cpuMs: Readonly<Record<string, number>>;
}

export function answerOf(figure: Figure): FigureAnswer {
  const { costs } = figure;
  const ratio = ratioOf(figure);
  return {
    id: figure.id,
    value: rounded(figure.value.median),
    valueRange: rangeOf(figure.value),
    baseline: figure.baseline && rounded(figure.baseline.median),
    baselineRange: figure.baseline && rangeOf(figure.baseline),
    ratio: ratio === null ? null : rounded(ratio),
    ratioRange: figure.ratios && rangeOf(figure.ratios),
    goal: goalOf(figure),
    met: isMet(figure),
    balanced: isBalanced(figure),
    ...(costs && {
      costs: { value: costsAnswer(costs.value), baseline: costsAnswer(costs.baseline) },
    }),
  };
}

function rangeOf({ min, max }: Spread): readonly [number, number] {
  return [rounded(min), rounded(max)];
}

function costsAnswer({ latencyMs, cpuMs }: Costs): CostsAnswer {
  return {
    latencyMs: { p50: rounded(latencyMs.p50), p95: rounded(latencyMs.p95) },
    cpuMs: Object.fromEntries([...cpuMs].map(([name, ms]) => [name, rounded(ms)])),
  };
}

/** One line a figure, then what does not fit in one. */
export function tableOf(figures: readonly Figure[], width: number): string {
  const table = renderTable<Figure>(
    [
      { title: 'id', value: ({ id }) => id },
      { title: 'what', value: ({ what, unit }) => `${what}, ${unit}`, wraps: true },
      { title: 'value', value: ({ value }) => spread(value) },
      { title: 'baseline', value: ({ baseline }) => (baseline === null ? NONE : spread(baseline)) },
      { title: 'ratio', value: ratioText },
      { title: 'goal', value: goalText },
      { title: 'met', value: (figure) => (isMet(figure) ? 'yes' : 'no') },
      { title: 'balanced', value: (figure) => (isBalanced(figure) ? 'yes' : 'NO: VOID') },
      { title: 'success', value: successText },
    ],
    figures,
    width,
  );
  return [table, '', ...notesOf(figures)].join('\n');
}

/** What a reader of the figures must know, and why one of them is void. */
export function notesOf(figures: readonly Figure[]): string[] {
  return figures.flatMap(({ id, ratios, costs, notes, imbalances }) => [
    ...(ratios === null ? [] : [`${id}: ratio by round ${spread(ratios)}`]),
    ...(costs === undefined
      ? []
      : [`${id}: ${costsText(costs.value)}`, `${id}: baseline ${costsText(costs.baseline)}`]),
    ...notes.map((note) => `${id}: ${note}`),
    ...imbalances.map((imbalance) => `${id} IS VOID: ${imbalance}`),
  ]);
}

function costsText({ latencyMs, cpuMs }: Costs): string {
  const cpu = [...cpuMs].map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(', ');
  const start = `start to end p50 ${latencyMs.p50.toFixed(0)} ms, p95 ${latencyMs.p95.toFixed(0)} ms`;
  return cpu === '' ? start : `${start}; processor ms each: ${cpu}`;
}

/** In place of what there is not. */
const NONE = '–';

function ratioText(figure: Figure): string {
  const ratio = ratioOf(figure);
  return ratio === null ? NONE : number(ratio);
}

function goalText({ goal }: Figure): string {
  if (goal.of === 'books') return 'measured';
  return 'atLeast' in goal
    ? `${goal.of} >= ${number(goal.atLeast)}`
    : `${goal.of} <= ${number(goal.atMost)}`;
}

function goalOf({ goal }: Figure): number | null {
  if (goal.of === 'books') return null;
  return 'atLeast' in goal ? goal.atLeast : goal.atMost;
}

function successText({ success: { value, baseline } }: Figure): string {
  return baseline === null ? share(value) : `${share(value)}, baseline ${share(baseline)}`;
}

/** Never rounded up to a whole: 100 % means all of them. */
function share(success: number): string {
  return success === 1 ? '100 %' : `${(Math.floor(success * 10_000) / 100).toFixed(2)} %`;
}

function spread({ median, min, max }: Spread): string {
  return `${number(median)} [${number(min)}–${number(max)}]`;
}

/** Three digits that count. */
function number(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
