/** `did:key` of Ed25519 keys, against published pairs and for any key. Doubled: nothing. */
import fc from 'fast-check';
import { didOfKey, keyOfDid } from '../../src/signing/did-key';

// The public key of RFC 8037, appendix A, and the first Ed25519 example of the did:key method.
const PUBLISHED = [
  [
    '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    'did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw',
  ],
  [
    'O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik',
    'did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp',
  ],
] as const;

test.each(PUBLISHED)('the key %s is %s, both ways', (x, did) => {
  expect(didOfKey(x)).toBe(did);
  expect(keyOfDid(did)).toBe(x);
});

test('every key comes back from its DID', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      const x = Buffer.from(bytes).toString('base64url');
      expect(keyOfDid(didOfKey(x))).toBe(x);
    }),
  );
});

test('no other text is a key, and none makes it throw', () => {
  const wrong = [
    '',
    'did:key:z',
    'did:web:example.com',
    // 0, O, I and l are no digits.
    'did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMs0',
    // An X25519 key.
    'did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc',
    // Ones in front are zero bytes: the same number, another text.
    'did:key:z16MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw',
    `did:key:z${'2'.repeat(100_000)}`,
  ];
  expect(wrong.map(keyOfDid)).toEqual(wrong.map(() => null));
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(keyOfDid(`did:key:z${text}`)).toBeNull();
    }),
  );
});

test('a key of another length is refused', () => {
  expect(() => didOfKey(Buffer.alloc(31).toString('base64url'))).toThrow('32 bytes');
});
