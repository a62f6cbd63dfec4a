/**
 * The failure matrix as data: of each family what is done to the deployment, and what must then be found. How it
 * is done and looked for is in `cases`; what is found is compared with this and nothing else, in a run and once
 * more when its evidence is verified.
 */
import { BEYOND_FAMILIES } from './families/beyond';
import { DELIVERY_FAMILIES } from './families/deliveries';
import { ODD_PROCESS_FAMILIES } from './families/odd-processes';
import type { FamilyData, FamilyName } from './families/family';
import { PAGE_FAMILIES } from './families/page';

export const FAMILIES: Readonly<Record<FamilyName, FamilyData>> = {
  ...PAGE_FAMILIES,
  ...BEYOND_FAMILIES,
  ...DELIVERY_FAMILIES,
  ...ODD_PROCESS_FAMILIES,
};
