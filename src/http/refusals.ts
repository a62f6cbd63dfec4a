/** Requests whose signature was refused: recorded for people, up to a rate per sender and ingress. */
import { isIPv4, isIPv6 } from 'node:net';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

export interface RefusalLimits {
  /** Requests a minute of one address at one ingress. */
  readonly perAddress: number;
  /** Requests a minute of all addresses at one ingress. */
  readonly perIngress: number;
}

const LIMITS: RefusalLimits = { perAddress: 60, perIngress: 600 };

export interface RefusalLimit {
  /**
   * Counts one refused request of an address at an ingress. Null: it may be recorded; else the
   * seconds until the next one may be. Verified requests are never counted.
   */
  waitS(ingressRef: string, remoteAddress: string): Promise<number | null>;
  /** As `waitS`, of a request that is not judged yet: it is counted until that is taken back. */
  count(ingressRef: string, remoteAddress: string): Promise<CountedRefusal>;
}

export interface CountedRefusal {
  /** Null: it may be recorded; else the seconds until the next one may be. */
  readonly waitS: number | null;
  /** It was no refusal after all. */
  takeBack(): Promise<void>;
}

/** A limit in this process's memory; entries live for a minute. Many addresses together are one flood. */
export function refusalLimit({ perAddress, perIngress }: RefusalLimits = LIMITS): RefusalLimit {
  const addresses = new RateLimiterMemory({ points: perAddress, duration: 60 });
  const ingresses = new RateLimiterMemory({ points: perIngress, duration: 60 });
  async function count(ingressRef: string, remoteAddress: string): Promise<CountedRefusal> {
    const taken: (() => Promise<unknown>)[] = [];
    const counters = [
      { limiter: addresses, key: `${ingressRef} ${network(remoteAddress)}` },
      { limiter: ingresses, key: ingressRef },
    ];
    let waitS: number | null = null;
    // Who is over alone does not use up what the others have together.
    for (const { limiter, key } of counters) {
      if (waitS !== null) break;
      taken.push(() => limiter.reward(key));
      waitS = await waitOf(limiter, key);
    }
    return {
      waitS,
      async takeBack() {
        for (const giveBack of taken.splice(0)) await giveBack();
      },
    };
  }
  return { count, waitS: async (ref, address) => (await count(ref, address)).waitS };
}

async function waitOf(limiter: RateLimiterMemory, key: string): Promise<number | null> {
  try {
    await limiter.consume(key);
    return null;
  } catch (over) {
    if (!(over instanceof RateLimiterRes)) throw over;
    return Math.max(1, Math.ceil(over.msBeforeNext / 1000));
  }
}

/** One sender: an IPv4 address, or the /64 that any IPv6 host may pick its addresses from. */
export function network(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? '';
  if (isIPv4(mapped)) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const left = head.split(':').filter((group) => group !== '');
  const right = tail?.split(':').filter((group) => group !== '') ?? [];
  const gap = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0');
  return [...left, ...gap, ...right].slice(0, 4).join(':').toLowerCase();
}
