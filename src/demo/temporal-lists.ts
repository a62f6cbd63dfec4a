/** What the Temporal UI would list. */
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';

export interface TemporalLists {
  /** Ids of the workflows that a query of the Temporal UI finds; eventually consistent. */
  find(query: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** @param environment says where the server is, as Temporal's own variables do */
export function temporalLists(environment: Readonly<Record<string, string>>): TemporalLists {
  const { connectionOptions, namespace } = loadClientConnectConfig({
    overrideEnvVars: { ...environment },
  });
  const connection = Connection.lazy(connectionOptions);
  const client = new Client({ connection, namespace: namespace ?? 'default' });
  return {
    find: async (query) => {
      const ids: string[] = [];
      for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
      return ids;
    },
    close: () => connection.close(),
  };
}
