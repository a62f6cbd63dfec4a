/**
 * A fleet file: YAML documents, each one thing with its `kind`. Reading checks everything that the
 * file alone can tell; whether what it refers to exists is checked against the catalog later.
 */
import { z } from 'zod';
import { duplicateMistakes } from './fleet/duplicates';
import { FLEET_DOCUMENTS, FLEET_KINDS } from './fleet/documents';
import type { FleetDocuments, FleetKind } from './fleet/documents';
import { describeIssues } from './fleet/issues';
import { textFault } from './fleet/json-values';
import type { FleetMistake, Place, Placed } from './fleet/mistakes';
import { mistakeAt } from './fleet/mistakes';
import type { YamlDocument } from './fleet/yaml-documents';
import { parseYamlDocuments } from './fleet/yaml-documents';
import type { ShippedSchemes } from './shipped-schemes';

export interface Fleet extends FleetDocuments {
  /** What is wrong already; such a fleet is never published. */
  readonly mistakes: readonly FleetMistake[];
  /** Keys (`thingKey`) of documents with mistakes: a reference to one of them is not dangling. */
  readonly broken: ReadonlySet<string>;
  /** States of instances as their owner reports them, which no file says: they take no newer revision. */
  readonly reported?: true;
}

type FleetDraft = {
  [Kind in keyof FleetDocuments]: FleetDocuments[Kind][number][];
} & { mistakes: FleetMistake[]; broken: Set<string> };

/**
 * Reads a fleet file. Its mistakes are carried along, so that those against the catalog can be
 * listed with them; publishing refuses a fleet that has any.
 * @param schemes what a `webhookScheme` given by name stands for
 * @throws WaybillError `fleet_unreadable` when the text is not YAML at all
 */
export function readFleet(text: string, schemes: ShippedSchemes): Fleet {
  const draft: FleetDraft = {
    ...{ settings: [], capabilities: [], connectors: [], evidence: [] },
    ...{
      quotaPolicies: [],
      instances: [],
      bindings: [],
      replicas: [],
      targets: [],
      subscriptions: [],
      eventSinks: [],
    },
    ...{ mistakes: [], broken: new Set() },
  };
  for (const document of parseYamlDocuments(text)) readDocument(document, schemes, draft);
  return { ...draft, mistakes: draft.mistakes.concat(duplicateMistakes(draft)) };
}

const HeadText = z.string().max(100).optional().catch(undefined);
const Head = z.looseObject({
  kind: z.unknown(),
  tenant: HeadText,
  id: HeadText,
  version: HeadText,
  capability: HeadText,
  instance: HeadText,
});

/** What tells things of one kind apart. */
interface ThingNames {
  readonly tenant?: string | null | undefined;
  readonly id?: string | undefined;
  readonly version?: string | undefined;
  readonly capability?: string | undefined;
  readonly instance?: string | undefined;
}

/** One thing's key, e.g. `Target acme/ci`, `Connector github@1.0.0`, `Binding acme/issues.open@main`. */
export function thingKey(kind: FleetKind, thing: ThingNames): string {
  const { tenant = '?', id = '?', version = '?', capability = '?', instance = '?' } = thing;
  switch (kind) {
    case 'Settings':
      return kind;
    case 'Capability':
    case 'Evidence':
    case 'QuotaPolicy':
      return `${kind} ${id}`;
    case 'Connector':
      return `${kind} ${id}@${version}`;
    case 'Binding':
      return `${kind} ${tenant ?? '?'}/${capability}@${instance}`;
    case 'Instance':
    case 'Replica':
    case 'Target':
    case 'Subscription':
    case 'EventSink':
      return `${kind} ${tenant ?? '?'}/${id}`;
  }
}

function readDocument(document: YamlDocument, schemes: ShippedSchemes, draft: FleetDraft): void {
  const head = Head.safeParse(document.written);
  const kind = FLEET_KINDS.find((known) => head.success && known === head.data.kind);
  if (!head.success || kind === undefined) {
    const place = { document: `document ${document.number}`, lineOf: document.lineOf };
    draft.mistakes.push(mistakeAt(place, ['kind'], `must be one of ${FLEET_KINDS.join(', ')}`));
    return;
  }
  const key = thingKey(kind, head.data);
  const place = { document: `${key} (document ${document.number})`, lineOf: document.lineOf };
  const before = draft.mistakes.length;
  const written =
    kind === 'Connector' ? withScheme(document.written, schemes, place, draft) : document.written;
  keep(kind, written, place, draft);
  keepFromPostgres(document.written, place, { draft, before });
  if (draft.mistakes.length > before) draft.broken.add(key);
}

/** A text that Postgres cannot hold is a mistake in every field; those of JSON have said so already. */
function keepFromPostgres(
  written: unknown,
  place: Place,
  { draft, before }: { readonly draft: FleetDraft; readonly before: number },
): void {
  const fault = textFault(written);
  if (fault === null) return;
  const mistake = mistakeAt(place, fault.path, fault.problem);
  const said = draft.mistakes.slice(before).some(({ field }) => field === mistake.field);
  if (!said) draft.mistakes.push(mistake);
}

function keep(kind: FleetKind, written: unknown, place: Place, draft: FleetDraft): void {
  const parse = <Thing>(schema: z.ZodType<Thing>, into: Placed<Thing>[]) => {
    const parsed = schema.safeParse(written);
    if (parsed.success) into.push({ place, thing: parsed.data });
    else {
      for (const { path, problem } of describeIssues(parsed.error.issues, written, schema)) {
        draft.mistakes.push(mistakeAt(place, path, problem));
      }
    }
  };
  switch (kind) {
    case 'Settings':
      parse(FLEET_DOCUMENTS.Settings, draft.settings);
      return;
    case 'Capability':
      parse(FLEET_DOCUMENTS.Capability, draft.capabilities);
      return;
    case 'Connector':
      parse(FLEET_DOCUMENTS.Connector, draft.connectors);
      return;
    case 'Evidence':
      parse(FLEET_DOCUMENTS.Evidence, draft.evidence);
      return;
    case 'QuotaPolicy':
      parse(FLEET_DOCUMENTS.QuotaPolicy, draft.quotaPolicies);
      return;
    case 'Instance':
      parse(FLEET_DOCUMENTS.Instance, draft.instances);
      return;
    case 'Binding':
      parse(FLEET_DOCUMENTS.Binding, draft.bindings);
      return;
    case 'Replica':
      parse(FLEET_DOCUMENTS.Replica, draft.replicas);
      return;
    case 'Target':
      parse(FLEET_DOCUMENTS.Target, draft.targets);
      return;
    case 'Subscription':
      parse(FLEET_DOCUMENTS.Subscription, draft.subscriptions);
      return;
    case 'EventSink':
      parse(FLEET_DOCUMENTS.EventSink, draft.eventSinks);
  }
}

/** Puts the shipped scheme in the place of its name. */
function withScheme(
  written: unknown,
  schemes: ShippedSchemes,
  place: Place,
  draft: FleetDraft,
): unknown {
  const named = z.looseObject({ webhookScheme: z.string() }).safeParse(written);
  if (!named.success) return written;
  const scheme = schemes.get(named.data.webhookScheme);
  if (scheme === undefined) {
    const problem = `there is no shipped scheme of that name; known: ${[...schemes.keys()].join(', ')}`;
    draft.mistakes.push(mistakeAt(place, ['webhookScheme'], problem));
  }
  return { ...named.data, webhookScheme: scheme ?? null };
}
