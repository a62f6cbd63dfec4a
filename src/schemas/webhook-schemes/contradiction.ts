/** What is wrong with a scheme that no single field shows: the field to change, and why. */
export interface Contradiction {
  readonly path: (string | number)[];
  readonly message: string;
}
