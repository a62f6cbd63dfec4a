/** Effects that stand at the controlled provider: committed, and not answered. */
import { until } from './until';

/** The next so many effects are held. */
export async function holdEffects(providerUrl: string, count: number): Promise<void> {
  await fetch(controlOf(providerUrl), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ count }),
  });
}

/** Resolves once so many are held. */
export async function heldEffects(providerUrl: string, count: number): Promise<void> {
  await until(`the provider holds ${String(count)}`, async () => {
    const answer = await fetch(controlOf(providerUrl));
    const { held } = (await answer.json()) as { readonly held: number };
    return held >= count ? true : null;
  });
}

/** Answers all that are held, and holds no more. */
export async function releaseEffects(providerUrl: string): Promise<void> {
  await fetch(controlOf(providerUrl), { method: 'DELETE' });
}

function controlOf(providerUrl: string): string {
  return `${providerUrl}/control/holds`;
}
