/** A bound on the combinations of labels that a process ever exports. */

/** What stands for every combination beyond the bound. */
const OTHER = 'other';

/**
 * A function that lets the first `limit` combinations pass and answers `other` for each label of any
 * later one. The SDK's own limit does not serve: it counts anew after each collection, so that
 * cumulative series pile up all the same.
 */
export function boundedLabelSets<Labels extends Readonly<Record<string, string>>>(
  limit: number,
): (labels: Labels) => Labels {
  const known = new Set<string>();
  return (labels) => {
    const key = JSON.stringify(labels);
    if (known.has(key)) return labels;
    if (known.size < limit) {
      known.add(key);
      return labels;
    }
    return Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER])) as Labels;
  };
}
