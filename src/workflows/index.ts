/** The workflow types that `waybill worker` serves. */
export { action } from './action';
export { certify } from './certify';
export { delivery } from './delivery';
export { replay } from './replay';
export { upkeep } from './upkeep';
