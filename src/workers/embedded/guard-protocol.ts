/** What a guard needs to know to run one foreign server once. */
export interface GuardSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Present when the server runs as another OS user than we do. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly logFile: string;
  readonly recordFile: string;
  readonly stopSignal: NodeJS.Signals;
  /** After this long a stop is forced. */
  readonly stopTimeoutMs: number;
}

export type ToGuard =
  | { readonly type: 'start'; readonly spec: GuardSpec }
  | { readonly type: 'stop' }
  | { readonly type: 'kill'; readonly signal: NodeJS.Signals };

/** How a server ended. `tail` is the last of what it wrote. */
export interface ExitReport {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly tail: readonly string[];
}

export type FromGuard =
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'exited'; readonly report: ExitReport };
