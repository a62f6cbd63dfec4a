/** What identifies a delivery, as a scheme says it: the key of the dedup window and the event type. */
import { z } from 'zod';
import { FieldName, JsonPath, inHeader } from './fields';

/** One JSON path, or several. */
const Paths = z.union([JsonPath, z.array(JsonPath).min(1).max(5)]);

const inItems = {
  location: z.literal('items'),
  /** Where the list is; left out where the body itself is the list. */
  list: JsonPath.optional(),
};

/** Of several paths all together identify: `{"a":1,"b":2}` is another id than `{"a":1,"b":3}`. */
const idPlaces = [
  z.strictObject(inHeader),
  z.strictObject({ location: z.literal('body'), name: Paths }),
  z.strictObject({ ...inItems, name: Paths }),
  z.strictObject({ location: z.literal('claim'), name: FieldName }),
  z.strictObject({ location: z.literal('content') }),
] as const;
const DeliveryIdPlace = z.discriminatedUnion('location', idPlaces);
export type DeliveryIdPlace = z.infer<typeof DeliveryIdPlace>;

/** Where the key of the dedup window comes from; a SHA-256 of the body where the place is empty. */
export const DeliveryIdField = z.discriminatedUnion('location', [
  ...idPlaces,
  z.strictObject({ location: z.literal('first'), of: z.array(DeliveryIdPlace).min(2).max(5) }),
]);
export type DeliveryIdField = z.infer<typeof DeliveryIdField>;

/** Of several paths the first one with a value counts. */
const typePlaces = [
  z.strictObject(inHeader),
  z.strictObject({ location: z.literal('body'), name: Paths }),
  z.strictObject({ ...inItems, name: JsonPath }),
] as const;
const EventTypePlace = z.discriminatedUnion('location', typePlaces);
export type EventTypePlace = z.infer<typeof EventTypePlace>;

export const EventTypeField = z.discriminatedUnion('location', [
  ...typePlaces,
  z.strictObject({ location: z.literal('first'), of: z.array(EventTypePlace).min(2).max(5) }),
]);
export type EventTypeField = z.infer<typeof EventTypeField>;
