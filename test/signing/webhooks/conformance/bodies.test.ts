/** Asserted, for each shipped scheme: what a changed body is, and that bytes are judged, not text. */
import { gzipSync } from 'node:zlib';
import { sent, type Vendor } from '../../../support/vendors/vendor';
import { conform, outcome, type Instead } from './conform';

const changed = async (vendor: Vendor, change: (body: Buffer) => Buffer) => {
  const request = sent(vendor.sign());
  return await outcome(vendor, { ...request, body: change(Buffer.from(request.body)) });
};
const append = (body: Buffer) => Buffer.concat([body, Buffer.from(' ')]);
const reserialise = (body: Buffer) => Buffer.from(JSON.stringify(JSON.parse(body.toString())));

function bySigned(vendor: Vendor): Instead | null {
  if (vendor.signsOnly === 'nothing') return unsigned;
  return vendor.signsOnly === 'fields' ? fieldsOnly : null;
}

const unsigned: Instead = {
  because: 'nothing of the body is signed, which docs/webhook-schemes.md says',
  check: async (vendor) => {
    expect(await changed(vendor, append)).toBe('accepted');
  },
};

const fieldsOnly: Instead = {
  because: 'only some fields are signed: their values count, not their bytes',
  check: async (vendor) => {
    expect(await changed(vendor, append)).toBe('accepted');
    expect(await changed(vendor, reserialise)).toBe('accepted');
    const edit = (from: string, to: string) =>
      changed(vendor, (body) => Buffer.from(body.toString().replace(from, to)));
    expect(await edit('1000', '1001')).toBe('signature_mismatch');
    expect(await edit('1000', '1e3')).toBe('signature_mismatch');
    expect(await edit('"reason": "r"', '"reason": "x"')).toBe('accepted');
    expect(await edit('"reason": "r"', '"success": "false"')).toBe('unreadable_body');
  },
};

const form: Instead = {
  because: 'a form is signed by its fields: their order does not count, their values do',
  check: async (vendor) => {
    const reorder = (body: Buffer) => Buffer.from(body.toString().split('&').reverse().join('&'));
    expect(await changed(vendor, reorder)).toBe('accepted');
    const field = (body: Buffer) => Buffer.from(`${body.toString()}&Extra=1`);
    expect(await changed(vendor, field)).toBe('signature_mismatch');
    const request = sent(vendor.sign());
    const headers = request.headers.map(([name, value]) =>
      name === 'Content-Type' ? ([name, 'application/json'] as const) : ([name, value] as const),
    );
    expect(await outcome(vendor, { ...request, headers })).toBe('unsigned_body');
  },
};

const insideBody: Instead = {
  because: 'the signature is in the body, so such a body has none',
  check: async (vendor) => {
    for (const [, body] of odd) {
      const refused = await outcome(vendor, { ...sent(vendor.sign()), body });
      expect(refused).toBe('missing_signature');
    }
    const withMark = (body: Buffer) => Buffer.concat([Buffer.from('\ufeff'), body]);
    expect(await changed(vendor, withMark)).toBe('accepted');
  },
};

const onlyForms: Instead = {
  because: 'such a body is no form; an empty one has no fields',
  check: async (vendor) => {
    expect(await outcome(vendor, sent(vendor.sign({ body: Buffer.alloc(0) })))).toBe('accepted');
    const request = sent(vendor.sign());
    const binary = Buffer.from([0x7b, 0xe9, 0x00, 0xff, 0x7d]);
    expect(await outcome(vendor, { ...request, body: binary })).toBe('unsigned_body');
  },
};

const timeInBody: Instead = {
  because: 'its signature is right, and the time that must be in the body is missing',
  check: async (vendor) => {
    for (const [, body] of odd) {
      expect(await outcome(vendor, sent(vendor.sign({ body })))).toBe('missing_timestamp');
    }
    const marked = Buffer.concat([Buffer.from('\ufeff'), vendor.body('x', '1700000000000')]);
    expect(await outcome(vendor, sent(vendor.sign({ body: marked })))).toBe('accepted');
  },
};

conform(
  'append one byte to the body',
  async (vendor) => {
    expect(await changed(vendor, append)).toBe(vendor.changedBody);
  },
  bySigned,
);

conform(
  're-serialise the JSON body',
  async (vendor) => {
    const differs = await changed(vendor, (body) => {
      const text = JSON.stringify(JSON.parse(body.toString()), null, 3);
      return Buffer.from(text);
    });
    expect(differs).toBe(vendor.changedBody);
  },
  (vendor) => bySigned(vendor) ?? (vendor.name === 'twilio (form)' ? form : null),
);

const odd: readonly (readonly [string, Buffer])[] = [
  ['no bytes', Buffer.alloc(0)],
  ['a byte order mark', Buffer.from('\ufeff{"a":1}')],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0xe9, 0x00, 0xff, 0x7d])],
  ['gzip', gzipSync('{"a":1}')],
];

conform(
  'body of zero bytes, body with BOM, body not valid UTF-8, gzip-encoded body',
  async (vendor) => {
    for (const [, body] of odd) {
      expect(await outcome(vendor, sent(vendor.sign({ body })))).toBe('accepted');
    }
  },
  (vendor) => {
    if (vendor.scheme === 'adyen') return insideBody;
    if (vendor.name === 'twilio (form)') return onlyForms;
    return vendor.time?.place === 'body' ? timeInBody : null;
  },
);
