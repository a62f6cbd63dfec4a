/** A certificate of its own for a server of a test, made by openssl in a folder of the test's. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** Paths of two PEM files. It vouches for itself, as `localhost` and 127.0.0.1. */
export function makeCertificate(folder: string): {
  readonly certificate: string;
  readonly privateKey: string;
} {
  const certificate = path.join(folder, 'server.crt');
  const privateKey = path.join(folder, 'server.key');
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ed25519', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
      ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
      ...['-keyout', privateKey, '-out', certificate],
    ],
    { stdio: 'ignore' },
  );
  return { certificate, privateKey };
}
