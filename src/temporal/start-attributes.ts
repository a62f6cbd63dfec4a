/** The search attributes that a workflow starts with: whose it is, and of which connector. */
import {
  SearchAttributeType,
  TypedSearchAttributes,
  defineSearchAttributeKey,
} from '@temporalio/common';
import type { TenantId } from '../domain/ids';

const TENANT = defineSearchAttributeKey('WaybillTenant', SearchAttributeType.KEYWORD);
const CONNECTOR = defineSearchAttributeKey('WaybillConnector', SearchAttributeType.KEYWORD);

/** @param connectorId left out: it is of none, or of one that is not known yet */
export function startAttributes(tenantId: TenantId, connectorId?: string): TypedSearchAttributes {
  const connector = connectorId === undefined ? [] : [{ key: CONNECTOR, value: connectorId }];
  return new TypedSearchAttributes([{ key: TENANT, value: tenantId }, ...connector]);
}
