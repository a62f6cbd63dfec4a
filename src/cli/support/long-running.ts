/** What `waybill api` and `waybill worker` share: an end when somebody asks for it. */
import { aborted, endRequested } from './signals';

interface Running {
  /** Rejects when the process broke; may never settle before `stop`. */
  readonly broken: Promise<void>;
  /** Resolves when it has stopped in order. */
  stop(): Promise<void>;
}

/** Starts, runs until a signal asks for the end, stops in order. A signal may come during the start. */
export async function runUntilAsked(start: () => Promise<Running>): Promise<void> {
  const end = endRequested();
  const asked = aborted(end).then(() => null);
  const running = await Promise.race([start(), asked]);
  if (running === null) return;
  try {
    await Promise.race([running.broken, asked]);
  } finally {
    await running.stop();
  }
}
