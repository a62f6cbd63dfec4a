/**
 * Which addresses may be called (docs/architecture, "Addresses"). A name is looked up once for each
 * connection, every address that it has must be allowed, and the connection goes to one of exactly
 * those: an answer of the name server that changes later changes nothing. The name stays the one that
 * TLS and the Host header see.
 */
import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import type { AddressPolicy } from '../schemas/target-addresses';

/** The code of an error that refuses to connect. */
export const ADDRESS_REFUSED = 'ERR_ADDRESS_REFUSED';

/** Nothing was sent. */
export class AddressRefused extends Error {
  readonly code = ADDRESS_REFUSED;
  /** True: the URL itself names the address, so that no later look-up can help. */
  readonly literal: boolean;

  constructor(problem: string, literal: boolean) {
    super(problem);
    this.name = 'AddressRefused';
    this.literal = literal;
  }
}

/** How a host is called: what decides beside its address. */
export interface Approach {
  readonly https: boolean;
  readonly port: number;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Why an address must not be called; null: it may. Of the policy's `allow` anything may be called,
 * otherwise only a public address, at a port and over a scheme that the policy names.
 * @param text an IPv4 or IPv6 address, without brackets; anything else is refused
 */
export function addressProblem(
  text: string,
  { https, port }: Approach,
  policy: AddressPolicy,
): string | null {
  const address = parsed(text);
  if (address === null) return 'it is no address';
  if (policy.allow.some((range) => isIn(address, range))) return null;
  if (!isPublic(address)) return 'its address is not public';
  if (!https && !policy.http) return 'it is not called over https';
  return policy.ports.includes(port) ? null : `port ${port} is not among those that may be called`;
}

/**
 * Why a URL must not be called, as far as it says so itself: a host that is an address, in whatever
 * notation. A name is judged when it is looked up. Null: nothing speaks against it yet.
 */
export function urlProblem(url: string, policy: AddressPolicy): string | null {
  const { hostname } = new URL(url);
  const host = unbracketed(hostname);
  return parsed(host) === null ? null : addressProblem(host, approachOf(url), policy);
}

export function approachOf(url: string): Approach {
  const { protocol, port } = new URL(url);
  const https = protocol === 'https:';
  return { https, port: port === '' ? (https ? 443 : 80) : Number(port) };
}

/** Looks a name up, all of its addresses. */
export type LookUp = (
  host: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/**
 * Connects to addresses that the policy allows, and to no others.
 * @param lookUp the system's, unless told
 */
export function guardedConnector(
  policy: AddressPolicy,
  timeoutMs: number,
  lookUp: LookUp = systemLookup,
): buildConnector.connector {
  return (options, callback) => {
    const host = unbracketed(options.hostname);
    const https = options.protocol === 'https:';
    const approach = { https, port: Number(options.port) || (https ? 443 : 80) };
    // An address is not looked up, so nobody else would judge it.
    const literal = parsed(host) === null ? null : addressProblem(host, approach, policy);
    if (literal !== null) {
      callback(new AddressRefused(literal, true), null);
      return;
    }
    const lookup = guardedLookup(approach, policy, lookUp);
    buildConnector({ timeout: timeoutMs, lookup })(options, callback);
  };
}

function guardedLookup(approach: Approach, policy: AddressPolicy, lookUp: LookUp): LookupFunction {
  return (host, options, done) => {
    lookUp(host, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        done(error, '', 0);
        return;
      }
      const problem =
        found.map(({ address }) => addressProblem(address, approach, policy)).find(Boolean) ?? null;
      const [first] = found;
      if (problem !== null || first === undefined) {
        done(new AddressRefused(problem ?? 'it has no address', false), '', 0);
      } else if (options.all === true) {
        done(null, found);
      } else {
        done(null, first.address, first.family);
      }
    });
  };
}

/** An IPv4 address in IPv6 clothes is judged as what it is. */
function parsed(text: string): Address | null {
  if (!ipaddr.isValid(text)) return null;
  // Only full dotted notation: `127.1` and `0x7f.1` have been written out by the URL parser before.
  if (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)) return null;
  const address = ipaddr.parse(text);
  if (address.kind() === 'ipv4') return address;
  const six = address as ipaddr.IPv6;
  if (six.isIPv4MappedAddress()) return six.toIPv4Address();
  // A translator of an IPv6-only network sends it to the IPv4 address in its last four bytes.
  if (six.match(ipaddr.IPv6.parse('64:ff9b::'), 96)) {
    return new ipaddr.IPv4(six.toByteArray().slice(12));
  }
  return six;
}

function isIn(address: Address, range: string): boolean {
  const [network, bits] = range.includes('/')
    ? ipaddr.parseCIDR(range)
    : [ipaddr.parse(range), range.includes(':') ? 128 : 32];
  return network.kind() === address.kind() && address.match(network, bits);
}

/** What is handed out as globally reachable; everything special is not. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return (
    address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(ipaddr.IPv6.parse('2000::'), 3)
  );
}

function unbracketed(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
