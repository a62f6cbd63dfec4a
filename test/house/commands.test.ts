/** Every command line that a page or a help text shows is one that the program takes. */
import type { Command } from 'commander';
import { buildProgram } from '../../src/cli/program';
import { projectFiles, read } from './repository';

const pages = projectFiles().filter((file) => file.endsWith('.md'));

/** In blocks of a shell: the lines, with what is continued, without what is only said. */
function linesOf(text: string): string[] {
  const joined = text.replaceAll(/\\\n\s*/g, ' ').split('\n');
  return joined.map((line) => line.replace(/\s#\s.*$/, '').trim());
}

/** The arguments of each `waybill` in a line; words in angle brackets stand for one of the reader's. */
function callsIn(line: string): string[][] {
  return line
    .replace(/^\$ /, '')
    .split(/\s(?:\||&&|&|>)\s*/)
    .map((part) => part.replace(/^(?:[A-Z_]+=\S+\s+)*(?:npx )?/, ''))
    .filter((part) => /^waybill\s/.test(part))
    .map((part) =>
      [...part.matchAll(/'[^']*'|"[^"]*"|\S+/g)].slice(1).map(([word]) => unquoted(word)),
    );
}

function unquoted(word: string): string {
  return word.replace(/^'(.*)'$|^"(.*)"$/, '$1$2');
}

/** A file of the reader's, which is not here. */
const ANOTHERS_FILE = /'[\w-]+\.json' is invalid/;

const SHELL = /^```sh\n([\s\S]*?)^```/gm;
const documented = pages.flatMap((page) =>
  [...read(page).matchAll(SHELL)]
    .flatMap(([, block = '']) => linesOf(block))
    .flatMap(callsIn)
    .map((args) => ({ where: page, call: args.join(' '), args })),
);

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
  return text;
}

function commandsOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commandsOf)];
}

async function explained(): Promise<string[][]> {
  return commandsOf(await buildProgram()).flatMap((command) =>
    linesOf(helpOf(command))
      .filter((line) => line.startsWith('$ '))
      .flatMap(callsIn),
  );
}

/** What is wrong with it; null: it would be carried out. */
async function faultOf(args: readonly string[]): Promise<string | null> {
  const program = await buildProgram(args[0]);
  for (const command of commandsOf(program)) {
    // What only groups others stays a mistake when it is called alone.
    if (Reflect.get(command, '_actionHandler') !== null) command.action(() => undefined);
  }
  try {
    await program.parseAsync([...args], { from: 'user' });
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return ANOTHERS_FILE.test(message) ? null : message;
  }
}

test('there are some', () => {
  expect(documented.length).toBeGreaterThan(40);
});

test.each(documented)('$where: waybill $call', async ({ args }) => {
  expect(await faultOf(args)).toBeNull();
});

test('what help texts show is taken, too', async () => {
  const calls = await explained();
  const faults = await Promise.all(calls.map(faultOf));
  expect(calls.length).toBeGreaterThan(40);
  expect(
    calls.map((args, index) => [args.join(' '), faults[index]]).filter(([, fault]) => fault),
  ).toEqual([]);
});

test('a command that is called by its name is there, and alone', async () => {
  const names = (await buildProgram()).commands.map((command) => command.name());
  const alone = await Promise.all(names.map((name) => buildProgram(name)));
  expect(alone.map(({ commands }) => commands.map((one) => one.name()))).toEqual(
    names.map((name) => [name]),
  );
});
