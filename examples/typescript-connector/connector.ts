/** Notes in a file: a whole connector. The file stands for a product with an API of its own. */
import { appendFile, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { capability, type Connector } from 'waybill/host-kit';
import { z } from 'zod';

const Request = z.strictObject({ text: z.string().min(1).max(500) });
const Result = z.strictObject({ noteId: z.string() });
const Note = z.object({ noteId: z.string(), reference: z.string(), text: z.string() });

const file = process.env['NOTES_FILE'] ?? 'notes.jsonl';
/** How long the product takes to answer once it has done it: for trying a crash. */
const latencyMs = Number(process.env['NOTES_LATENCY_MS'] ?? '0');
/** No request to the product is under way for longer. */
const productTimeoutMs = latencyMs + 1_000;

async function findNote(reference: string) {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean);
  return lines.map((line) => Note.parse(JSON.parse(line))).find((n) => n.reference === reference);
}

const add = capability({
  contract: {
    ...({ interfaceName: 'notes', sideEffect: 'shared-write', recovery: 'lookup' } as const),
    requestSchema: z.toJSONSchema(Request),
    resultSchema: z.toJSONSchema(Result),
    timeoutMs: 10_000,
  },
  parse: (body) => Request.parse(body),
  execute: async ({ action, progress }, { text }) => {
    progress('writing the note', 50);
    const noteId = `note-${crypto.randomUUID()}`;
    await appendFile(file, `${JSON.stringify({ noteId, reference: action, text })}\n`, {
      flush: true,
    });
    await delay(latencyMs);
    return { kind: 'succeeded', result: { noteId } };
  },
  recover: async ({ action, startedAgoMs }) => {
    const note = await findNote(action);
    if (note) return { kind: 'succeeded', result: { noteId: note.noteId } };
    return { kind: startedAgoMs > productTimeoutMs ? 'not_started' : 'unknown' };
  },
});

export const connector: Connector = {
  connectorId: 'notes',
  version: '1.0.0',
  capabilities: { 'notes.add': add },
};
