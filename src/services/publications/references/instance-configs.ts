/** Whether an instance's config is what the form of its connector version asks for. */
import type { ErrorObject } from 'ajv/dist/2020';
import { pointerSteps } from '../../../domain/json-pointer';
import type { VersionRow } from '../../../schemas/catalog-rows';
import type { InstanceDocument } from '../../../schemas/fleet/documents';
import type { FieldPath, FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { schemaJudge } from '../../../schemas/json-schema-judges';

/** Every mistake, by its field; a version without a form takes any config. */
export function configMistakes(
  { place, thing }: Placed<InstanceDocument>,
  { configurationForm: form, connector, version }: VersionRow,
): FleetMistake[] {
  if (typeof form !== 'object' || form === null) return [];
  const judged = schemaJudge(form, { allErrors: true })(thing.config ?? {});
  const wrong = (problem: string, field: FieldPath = []) =>
    mistakeAt(
      place,
      ['config', ...field],
      `${problem}; see the configurationForm of ${connector} ${version}`,
    );
  switch (judged.kind) {
    case 'fits':
      return [];
    case 'misfit':
      return judged.errors.map((error) => wrong(problemOf(error), fieldOf(error)));
    case 'too_costly':
      return [wrong(judged.problem)];
  }
}

/** The field that is meant: also one that is missing, or that there is none of. */
function fieldOf({ instancePath, params, keyword }: ErrorObject): FieldPath {
  const named = new Map<string, unknown>(Object.entries(params));
  const child =
    keyword === 'required' ? named.get('missingProperty') : named.get('additionalProperty');
  return [...pointerSteps(instancePath), ...(typeof child === 'string' ? [child] : [])];
}

function problemOf({ keyword, message, params }: ErrorObject): string {
  const allowed = new Map<string, unknown>(Object.entries(params)).get('allowedValues');
  if (keyword === 'required') return 'is missing';
  if (keyword === 'additionalProperties') return 'there is no such field';
  if (Array.isArray(allowed)) return `must be one of ${allowed.map(String).join(', ')}`;
  return message ?? 'does not fit';
}
