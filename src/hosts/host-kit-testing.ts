/** For the tests of a connector: `import … from 'waybill/host-kit/testing'` (docs/writing-a-connector). */
export { TestWaybill } from './testing/test-waybill';
export type { TestAction, TestAnswer } from './testing/test-action';
export type { KillPoint, TestHost } from './testing/test-host';
