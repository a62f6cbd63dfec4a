/** Replicas: provisioned host processes of an instance. */
import { z } from 'zod';
import { isLoopbackUrl } from '../../domain/loopback';
import { TRANSPORTS } from '../../domain/routes';
import { Name } from '../names';
import { Label, Version } from './texts';

/** An Ed25519 key: its multicodec makes every one of them begin like this, with 48 characters in all. */
export const PeerDid = z
  .string()
  .regex(
    /^did:key:z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/,
    'write the did:key of the host’s Ed25519 key: did:key:z6Mk and 44 more characters',
  );

const Peer = z.strictObject({
  did: PeerDid,
  /** Null: the replica's id. */
  principalId: Label.nullable().default(null),
  principalKind: Label.default('service'),
});

/** Everything but the capacity is fixed once it was published. */
export const ReplicaDocument = z
  .strictObject({
    kind: z.literal('Replica'),
    tenant: Name,
    id: Name,
    instance: Name,
    /** Null: what it is, and the instance's for a new one. */
    version: Version.nullable().default(null),
    endpoint: z.string().max(2000),
    peer: Peer,
    trustDomain: Label,
    transport: z.enum(TRANSPORTS),
    region: Name,
    zone: Name,
    capacityClass: Name.default('standard'),
    capacity: z.int().min(0).max(100_000),
  })
  .superRefine(({ endpoint, transport }, context) => {
    const message = endpointFault(endpoint, transport);
    if (message !== null) context.addIssue({ code: 'custom', path: ['endpoint'], message });
  });
export type ReplicaDocument = z.infer<typeof ReplicaDocument>;

function endpointFault(endpoint: string, transport: (typeof TRANSPORTS)[number]): string | null {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (transport === 'https') {
    if (url?.protocol !== 'https:') return 'write an https address; transport is https';
  } else if (url?.protocol !== 'http:' || !isLoopbackUrl(url)) {
    return 'write an http address of this machine, e.g. http://127.0.0.1:7411; transport is http-loopback';
  }
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return plain ? null : 'must hold no user name, password, query or fragment';
}
