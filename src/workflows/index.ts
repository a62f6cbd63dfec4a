/** The workflow types that `waybill worker` serves. */
export { delivery } from './delivery';
