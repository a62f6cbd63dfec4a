/** The story as one table; where the terminal is too narrow for it, as one block a line. */
import Table from 'cli-table3';
import type { StoryLine } from '../../demo/story/deps';
import { BORDERLESS, withoutTrailingBlanks } from './table';

const TABLE_WIDTH = 130;
const WHAT_WIDTH = 38;
const ID_WIDTH = 36;
const NUMBER_WIDTH = 7;

/** What happened, its id, the outcome, and beneath it the link into the Temporal UI. */
export function storyTable(lines: readonly StoryLine[], width: number): string {
  return width < TABLE_WIDTH ? blocks(lines) : table(lines);
}

function table(lines: readonly StoryLine[]): string {
  const outcomeWidth = TABLE_WIDTH - NUMBER_WIDTH - WHAT_WIDTH - ID_WIDTH - 6;
  const widths = [NUMBER_WIDTH, WHAT_WIDTH, ID_WIDTH, outcomeWidth];
  const drawn = new Table({
    head: ['LINE', 'WHAT', 'ID', 'OUTCOME'],
    colWidths: widths,
    wordWrap: true,
    chars: BORDERLESS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const [index, line] of lines.entries()) {
    drawn.push([mark(index, line), line.what, line.id ?? '-', line.seen]);
    if (line.url !== null) drawn.push(['', { content: line.url, colSpan: 3 }]);
  }
  return withoutTrailingBlanks(drawn.toString());
}

function blocks(lines: readonly StoryLine[]): string {
  return lines
    .map((line, index) => {
      const about = [line.id ?? '-', line.seen, ...(line.url === null ? [] : [line.url])];
      return [`${mark(index, line)}  ${line.what}`, ...about.map((text) => `    ${text}`)].join(
        '\n',
      );
    })
    .join('\n');
}

function mark(index: number, line: StoryLine): string {
  return `${index + 1} ${line.expected ? 'ok' : 'FAIL'}`;
}
