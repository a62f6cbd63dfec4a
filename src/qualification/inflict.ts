/** Does to the deployment what a fault says. */
import { request } from 'undici';
import type { Fault } from './faults';
import { localUrl } from './site/plans';
import type { Site } from './site/site';

/** Resolves when it is done; what a case can only do itself is left to it. */
export async function inflict(site: Site, fault: Fault): Promise<void> {
  switch (fault.kind) {
    case 'publish':
      await site.publish(fault.change);
      return;
    case 'stop':
      await site.process(fault.process).stop();
      return;
    case 'kill':
    case 'crash':
      await site.process(fault.process).kill();
      return;
    case 'start':
      await site.process(fault.process).start();
      return;
    case 'freeze':
      site.process(fault.process).freeze();
      return;
    case 'wake':
      site.process(fault.process).wake();
      return;
    case 'clock':
      await site.node(fault.process).setClock(fault.aheadMs);
      return;
    case 'link':
      site.link.next(fault.conduct);
      return;
    case 'target':
      await targetAnswers(site, fault.status);
      return;
    case 'disk':
      await site.disk(fault.full);
      return;
    case 'foreign-record':
    case 'token-replayed':
    case 'away':
      return;
  }
}

/** What the target of deliveries answers from now on; null: 200. */
export async function targetAnswers({ ports }: Site, status: number | null): Promise<void> {
  const { body } = await request(`${localUrl(ports, 'target')}/control/answers`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path: '/hook', status }),
  });
  await body.dump();
}
