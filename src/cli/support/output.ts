/** Standard output: answers only, whatever else is said goes to standard error. */

/**
 * What vendors, targets and hosts have written reaches a terminal as text alone: their control characters
 * are shown, not obeyed. Within JSON that is another spelling of the same value.
 */
export function printLine(text = ''): void {
  process.stdout.write(`${visible(text)}\n`);
}

function visible(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (sign) => {
    if (sign === '\n' || sign === '\t') return sign;
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** How to see the next page of a list, where there is one. */
export function printMore(nextCursor: string | null): void {
  if (nextCursor !== null) printLine(`\nmore: the same command with --cursor ${nextCursor}`);
}

/** One JSON document, indented: still easy to read, and one value for a program. */
export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, 2));
}

/** Columns that people see; no limit where a program reads. */
export function terminalWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
}

/** `waybill … | head` ends quietly when the reader has seen enough. */
export function survivesClosedPipe(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
}
