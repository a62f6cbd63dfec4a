/** A scheme by the name that it ships under, or from a file of its own. */
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { WaybillError } from '../../domain/errors';
import { loadShippedSchemes } from '../../schemas/shipped-schemes';
import { WebhookScheme } from '../../schemas/webhook-schemes';

/** @throws WaybillError `scheme_unreadable` where there is no such scheme, or a field of it is wrong */
export async function namedScheme(name: string): Promise<WebhookScheme> {
  const shipped = loadShippedSchemes();
  const known = shipped.get(name);
  if (known !== undefined) return known;
  if (!/[./\\]/.test(name)) {
    const names = [...shipped.keys()].join(', ');
    throw unreadable(`there is no scheme ${name}; known: ${names}, or the path of a file`);
  }
  const parsed = WebhookScheme.safeParse(parseYaml(await inputText(name), name));
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : [];
    return `${[...issue.path, ...keys].join('.')}: ${issue.message}`;
  });
  throw unreadable(`${name}: ${issues.join('; ')}`);
}

export async function inputText(file: string): Promise<string> {
  return (await inputBytes(file)).toString('utf8');
}

export async function inputBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw unreadable(error instanceof Error ? error.message : String(error));
  }
}

export function unreadable(detail: string): WaybillError {
  return new WaybillError('scheme_unreadable', detail);
}

function parseYaml(text: string, name: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw unreadable(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
