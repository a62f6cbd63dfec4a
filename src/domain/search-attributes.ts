/**
 * The typed search attributes of Waybill's workflows. Tenant and connector are set at the start;
 * state and waiting-since only while a workflow waits for a person or for time, so that
 * `WaybillState = "Failed"` lists what is stuck. They are not encoded: never anything secret.
 */
export const SEARCH_ATTRIBUTES = {
  WaybillTenant: 'Keyword',
  WaybillConnector: 'Keyword',
  WaybillState: 'Keyword',
  WaybillWaitingSince: 'Datetime',
} as const;
