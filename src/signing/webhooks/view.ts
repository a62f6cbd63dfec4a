/** A request with its parts read on demand, each once: query, body as JSON or form. Never throws. */
import { readHeader, type HeaderRead } from './headers';
import { payloadText, readJson, textAt } from './payload';
import type { WebhookRequest } from './request';

/** Name and value pairs in the order of the request. */
export type Fields = readonly (readonly [name: string, value: string])[];

const views = new WeakMap<WebhookRequest, RequestView>();

/** The view of a request: the same one every time, so that a body is parsed once. */
export function viewOf(request: WebhookRequest): RequestView {
  const known = views.get(request);
  if (known !== undefined) return known;
  const view = new RequestView(request);
  views.set(request, view);
  return view;
}

export class RequestView {
  readonly request: WebhookRequest;
  /** The headers that were looked for until now, in lower case. */
  readonly headersRead = new Set<string>();
  /** Whether anything of the address was looked at until now. */
  urlRead = false;
  #query: Fields | undefined;
  #form: { readonly fields: Fields | null } | undefined;
  #json: { readonly value: unknown; readonly repeatsKeys: boolean } | undefined;

  constructor(request: WebhookRequest) {
    this.request = request;
  }

  header(name: string): HeaderRead {
    const lower = name.toLowerCase();
    this.headersRead.add(lower);
    return readHeader(this.request.headers, lower);
  }

  get url(): string {
    this.urlRead = true;
    return this.request.url;
  }

  /** The parameters of the URL's query, decoded. */
  get query(): Fields {
    this.urlRead = true;
    return (this.#query ??= queryOf(this.request.url));
  }

  /** The fields of a form, or null where the body is none or not UTF-8; an empty body has none. */
  get form(): Fields | null {
    return (this.#form ??= { fields: formOf(this) }).fields;
  }

  /** The body as JSON; undefined where it is none. */
  get json(): unknown {
    return this.#body().value;
  }

  /** Whether some object of the JSON names a key twice, which readers resolve differently. */
  get repeatsKeys(): boolean {
    return this.#body().repeatsKeys;
  }

  /** The text at a path of the JSON, or the field of that name where the body is a form. */
  text(path: string): string | null {
    if (this.json !== undefined) return textAt(this.json, path);
    return this.form?.find(([name]) => name === path)?.[1] ?? null;
  }

  #body(): { readonly value: unknown; readonly repeatsKeys: boolean } {
    return (this.#json ??= readJson(this.request.body));
  }
}

/** The value of a field, told apart like a header's. */
export function readField(fields: Fields, name: string): HeaderRead {
  const values = new Set(fields.filter(([key]) => key === name).map(([, value]) => value));
  const [text, ...others] = values;
  if (text === undefined) return { found: 'none' };
  return others.length > 0 ? { found: 'several' } : { found: 'one', text };
}

function queryOf(url: string): Fields {
  const [beforeFragment = ''] = url.split('#');
  const at = beforeFragment.indexOf('?');
  return at < 0 ? [] : [...new URLSearchParams(beforeFragment.slice(at + 1))];
}

function formOf(view: RequestView): Fields | null {
  if (view.request.body.length === 0) return [];
  const type = view.header('content-type');
  const isForm =
    type.found === 'none' ||
    (type.found === 'one' && /^application\/x-www-form-urlencoded\s*(;|$)/i.test(type.text));
  const text = isForm ? payloadText(view.request.body) : null;
  return text === null ? null : [...new URLSearchParams(text)];
}
