/** A database per test to publish fleets into, as the role waybill_control, and what came of it. */
import { readFleet } from '../../src/schemas/fleet';
import { FleetInvalid } from '../../src/schemas/fleet/mistakes';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import type { PublishedFleet } from '../../src/services/publications';
import { publishFleet } from '../../src/services/publications';
import type { TestDatabase } from './test-database';
import { createTestDatabase } from './test-database';

export interface Publishing {
  readonly db: () => TestDatabase;
  readonly apply: (text: string) => Promise<PublishedFleet>;
  /** `document field: problem` of every mistake with which a fleet is refused. */
  readonly refusal: (text: string) => Promise<string[]>;
  readonly revision: () => Promise<number>;
  /** `tenant aggregate seq event active` of every event, oldest first. */
  readonly events: () => Promise<string[]>;
}

/** Registers the database's set-up and end with the test file that calls it. */
export function publishing(): Publishing {
  const schemes = loadShippedSchemes();
  let database: TestDatabase | undefined;
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database?.drop());

  const db = () => {
    if (database === undefined) throw new Error('there is a database only within a test');
    return database;
  };
  const apply = (text: string) =>
    publishFleet(db().as('waybill_control'), readFleet(text, schemes), 'admin');
  return {
    db,
    apply,
    async refusal(text) {
      const error = await apply(text).then(
        () => null,
        (reason: unknown) => reason,
      );
      if (!(error instanceof FleetInvalid)) throw new Error('was not refused', { cause: error });
      return error.mistakes.map(({ document, field, problem }) => {
        return `${document.replace(/ \(.*\)/, '')} ${field}: ${problem}`;
      });
    },
    async revision() {
      const text = 'select revision::integer from waybill.catalog_revision';
      return (await db().rows<{ revision: number }>(text))[0]?.revision ?? -1;
    },
    async events() {
      const rows = await db().rows<{ text: string }>(
        `select tenant_id || ' ' || aggregate || ' ' || aggregate_seq || ' '
            || regexp_replace(topic, '.*[.]', '') || ' ' || coalesce(payload->>'active', '') as text
          from waybill.outbox_events order by position`,
      );
      return rows.map(({ text }) => text.trim());
    },
  };
}
