/** How deep JSON may be that is written and checked by functions that call themselves. */
export const MAX_NESTING = 100;

/** Whether a JSON value has at most so many levels of arrays and objects. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}
