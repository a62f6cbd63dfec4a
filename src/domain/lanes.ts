/** How the deliveries of a subscription are driven (docs/architecture, "Lanes"). */

/** `durable`: by a workflow from the start; `express`: by one once the first attempt did not acknowledge. */
export const LANES = ['durable', 'express'] as const;
export type Lane = (typeof LANES)[number];

/** Who makes the next move of a delivery. */
export const DRIVERS = ['workflow', 'loop'] as const;
