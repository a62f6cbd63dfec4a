/** The options of `waybill host` and their variables; an option wins over its variable. */

/** `[flags, variable, description, default]`. */
export const OPTIONS: readonly (readonly [string, string, string, string?])[] = [
  ['--replica <id>', 'WAYBILL_HOST_REPLICA', 'the replica that this process is'],
  ['--tenant <id>', 'WAYBILL_HOST_TENANT', 'whose instance it serves'],
  ['--connector <id>', 'WAYBILL_HOST_CONNECTOR', 'the connector'],
  ['--connector-version <version>', 'WAYBILL_HOST_CONNECTOR_VERSION', 'its version'],
  ['--instance <id>', 'WAYBILL_HOST_INSTANCE', 'the instance'],
  ['--credentials <revisions>', 'WAYBILL_HOST_CREDENTIALS', 'usable revisions, by commas'],
  [
    '--key <reference>',
    'WAYBILL_HOST_KEY',
    'its private key: env:NAME, file:PATH, vault:MOUNT/PATH#KEY',
  ],
  ['--store <file>', 'WAYBILL_HOST_STORE', 'its memory of actions; made where there is none'],
  [
    ...(['--lifecycle <url>', 'WAYBILL_HOST_LIFECYCLE_URL', 'where it registers'] as const),
    'http://127.0.0.1:7380',
  ],
  ['--heartbeat <duration>', 'WAYBILL_HOST_HEARTBEAT', 'how often it renews its lease', '10s'],
  ['--provider <url>', 'WAYBILL_HOST_PROVIDER_URL', 'the provider that it acts at'],
  ['--provider-token <reference>', 'WAYBILL_HOST_PROVIDER_TOKEN', 'the token for it, a reference'],
  [
    ...(['--provider-timeout <duration>', 'WAYBILL_HOST_PROVIDER_TIMEOUT'] as const),
    ...(['how long a call to it may take', '10s'] as const),
  ],
  [
    ...(['--listen <address>', 'WAYBILL_HOST_LISTEN', 'where it serves, host:port'] as const),
    '127.0.0.1:7390',
  ],
];

/** `connectorVersion` → `--connector-version (WAYBILL_HOST_CONNECTOR_VERSION)`. */
export function namedOption(name: string): string {
  const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const [, variable] = OPTIONS.find(([flags]) => flags.startsWith(`${flag} `)) ?? [];
  return variable === undefined ? flag : `${flag} (${variable})`;
}
