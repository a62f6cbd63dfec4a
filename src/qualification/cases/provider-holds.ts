/** The provider stands still between an effect and its answer. */
import { request } from 'undici';
import { z } from 'zod';
import { localUrl } from '../site/plans';
import { becomes, type CaseContext } from './context';

const Holds = z.object({ left: z.number(), held: z.number() });

/** Resolves with its marker when one effect is committed and its answer held back. */
export async function heldByProvider(context: CaseContext): Promise<string> {
  let marker = '';
  await becomes('the provider stands still after its commit', async () => {
    const state = await holds(context, 'GET');
    marker = JSON.stringify(state);
    return state.held === 1;
  });
  return marker;
}

/** The provider's control: whether it stands still between an effect and its answer. */
export async function holds(
  { site }: CaseContext,
  method: 'GET' | 'PUT' | 'DELETE',
  body?: object,
): Promise<z.infer<typeof Holds>> {
  const response = await request(`${localUrl(site.ports, 'provider')}/control/holds`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return Holds.parse(await response.body.json());
}
