/** The secrets that the example fleet refers to, made once for this folder. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

export const ExampleSecrets = z.object({
  /** What GitHub would sign its webhooks with. */
  WAYBILL_EXAMPLE_GITHUB_SECRET: z.string().min(1),
  /** What Waybill signs its requests to the targets with (Standard Webhooks). */
  WAYBILL_EXAMPLE_TARGET_SECRET: z.string().min(1),
  /** What the demo hosts use the demo provider with. */
  WAYBILL_EXAMPLE_PROVIDER_TOKEN: z.string().min(1),
});
export type ExampleSecrets = z.infer<typeof ExampleSecrets>;

/** Those of the folder, made when there are none; one that the environment sets wins. */
export function exampleSecrets(
  home: string,
  environment: Readonly<Record<string, string | undefined>>,
): ExampleSecrets {
  const kept = keptSecrets(path.join(home, 'keys'));
  const given = (name: keyof ExampleSecrets) =>
    environment[name] === undefined || environment[name] === '' ? kept[name] : environment[name];
  return {
    WAYBILL_EXAMPLE_GITHUB_SECRET: given('WAYBILL_EXAMPLE_GITHUB_SECRET'),
    WAYBILL_EXAMPLE_TARGET_SECRET: given('WAYBILL_EXAMPLE_TARGET_SECRET'),
    WAYBILL_EXAMPLE_PROVIDER_TOKEN: given('WAYBILL_EXAMPLE_PROVIDER_TOKEN'),
  };
}

function keptSecrets(folder: string): ExampleSecrets {
  const file = path.join(folder, 'example-secrets.json');
  const kept: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const whole = ExampleSecrets.safeParse(kept);
  if (whole.success) return whole.data;
  // None yet, or those of an older version, which had fewer.
  const made = ExampleSecrets.parse({
    WAYBILL_EXAMPLE_GITHUB_SECRET: randomBytes(32).toString('hex'),
    WAYBILL_EXAMPLE_TARGET_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
    WAYBILL_EXAMPLE_PROVIDER_TOKEN: randomBytes(32).toString('hex'),
    ...z.record(z.string(), z.string()).parse(kept),
  });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
  return made;
}
