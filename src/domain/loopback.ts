/** Whether a host name or address is this machine's own: `localhost`, `::1`, `127.0.0.0/8`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Whether a URL leads to this machine itself. */
export function isLoopbackUrl({ hostname }: { readonly hostname: string }): boolean {
  return hostname === '[::1]' || isLoopback(hostname);
}
