/** Schemes of no shipped vendor that use the rest of the language. */
const inHeader = { location: 'header', name: 'X-Sig', format: 'raw' } as const;
const hex = { ...inHeader, encoding: 'hex' } as const;
const pairs = { ...hex, format: 'pairs', sep: ',', eq: '=', sig_keys: ['v1'] } as const;
const hmac = { kind: 'hmac', hash: 'sha256' } as const;

export const oddSchemes: readonly object[] = [
  {
    kind: 'rsa-pkcs1',
    hash: 'sha1',
    message: '{sns}',
    signature: { location: 'body', name: 'Signature', format: 'raw', encoding: 'base64' },
  },
  { ...hmac, message: '{method}\\n{path}\\n{contentful_headers}\\n{body}', signature: hex },
  { ...hmac, message: '{hook0_headers}.{body}', signature: pairs },
  { ...hmac, message: '{crc32}{config:key}{json:a.b.0}', signature: { ...hex, location: 'query' } },
  {
    ...hmac,
    key_encoding: 'sha1-of-utf8',
    message: '{sorted_params}',
    signature: { ...hex, location: 'param' },
  },
  { kind: 'ed25519-seed-from-secret', message: '{body}', signature: hex },
  { kind: 'jwt', algorithms: ['ES256', 'EdDSA'], signature: inHeader, iat_tolerance_s: 300 },
  { kind: 'shared-token', signature: { ...inHeader, location: 'body', name: 'token' } },
  { kind: 'shared-token', signature: { ...inHeader, format: 'prefix', prefix: 'Bearer ' } },
  {
    ...hmac,
    ...{ message: '{body}', signature: hex },
    handshakes: [
      {
        ...{ name: 'challenge', method: 'GET' },
        when: [{ location: 'query', name: 'hub.challenge' }],
        require: [{ location: 'query', name: 'hub.verify_token', equals: '{config:verify_token}' }],
        answer: { status: 200, content_type: 'text/plain', body: '{query:hub.challenge}' },
      },
      {
        ...{ name: 'crc', method: 'GET', when: [{ location: 'query', name: 'crc_token' }] },
        signature: {
          ...{ ...hmac, message: '{config:crc_token}' },
          signature: {
            location: 'response',
            name: 'response_token',
            format: 'prefix',
            prefix: 'sha256=',
            encoding: 'base64',
          },
        },
        answer: {
          status: 200,
          content_type: 'application/json',
          body: '{"response_token":{signature}}',
        },
      },
    ],
  },
];
