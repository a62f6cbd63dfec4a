/** The workflow types that `waybill worker` serves. */
export { action } from './action';
export { delivery } from './delivery';
export { upkeep } from './upkeep';
