/** Repeating what met a passing fault, where that does no harm. */

type Fetch = (request: Request) => Promise<Response>;

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

/** Too many calls, a request under way with the same key, or not able to serve now. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A `fetch` that repeats up to `retries` times, and waits as long as `Retry-After` says. */
export function patientFetch(send: Fetch, retries: number): Fetch {
  return async (request) => {
    const mayRepeat =
      ['GET', 'HEAD', 'PUT'].includes(request.method) || request.headers.has('idempotency-key');
    for (let attempt = 0; ; attempt += 1) {
      const last = attempt >= retries || !mayRepeat;
      // A body is read once: each try has a copy, and the last one the request itself.
      const sent = await send(last ? request : request.clone()).catch((error: unknown) => {
        if (last || request.signal.aborted) throw error;
        return null;
      });
      if (sent !== null && (last || !(await passes(sent)))) return sent;
      await pause(sent, attempt, request.signal);
    }
  };
}

async function passes(response: Response): Promise<boolean> {
  if (PASSING.has(response.status)) return true;
  if (response.status !== 409) return false;
  return (await response.clone().text()).includes('"idempotency_in_flight"');
}

async function pause(
  response: Response | null,
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  const asked = Number(response?.headers.get('retry-after') ?? 0) * 1000;
  const own = FIRST_PAUSE_MS * 2 ** attempt;
  const waitMs = Math.min(asked > 0 ? asked : own, LONGEST_PAUSE_MS);
  await new Promise<void>((done, fail) => {
    const stop = () => {
      clearTimeout(timer);
      fail(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      done();
    }, waitMs);
    signal.addEventListener('abort', stop, { once: true });
  });
}
