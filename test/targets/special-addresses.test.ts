/**
 * No special address is called: each block of IANA's registries of special-purpose addresses (IPv4, IPv6)
 * and of multicast, at its first and last address, by itself and in every clothing that it can wear, as a
 * URL and as an answer of a name server. Calls are those of the product; doubled is the look-up alone.
 */
import ipaddr from 'ipaddr.js';
import type { AddressPolicy } from '../../src/schemas/target-addresses';
import { STRICT_ADDRESSES } from '../../src/schemas/target-addresses';
import { WebAddress } from '../../src/schemas/fleet/web-addresses';
import { addressProblem, urlProblem, type LookUp } from '../../src/targets/addresses';
import { httpTargets } from '../../src/targets/http-target';

const HTTPS = { https: true, port: 443 };
const OPEN: AddressPolicy = { ...STRICT_ADDRESSES, http: true, ports: [80, 443] };

const IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.0.8/32', '192.0.0.9/32', '192.0.0.10/32', '192.0.0.170/31'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4'],
  ...['240.0.0.0/4', '255.255.255.255/32'],
];
const IPV6 = [
  ...['::/128', '::1/128', '64:ff9b:1::/48', '100::/64', '100:0:0:1::/64', '2001::/23'],
  ...['2001::/32', '2001:1::1/128', '2001:1::2/128', '2001:1::3/128', '2001:2::/48', '2001:3::/32'],
  ...['2001:4:112::/48', '2001:10::/28', '2001:20::/28', '2001:30::/28', '2001:db8::/32'],
  ...['2002::/16', '2620:4f:8000::/48', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10'],
  ...['fec0::/10', 'ff00::/8'],
];

function edges(range: string): string[] {
  const [network, bits] = ipaddr.parseCIDR(range);
  const first = network.toByteArray();
  const last = first.map((byte, index) => {
    const fixed = Math.min(8, Math.max(0, bits - index * 8));
    return byte | (0xff >> fixed);
  });
  return [first, last].map((bytes) => ipaddr.fromByteArray(bytes).toString());
}

/** Every way in which an IPv4 address can stand in an IPv6 one. */
function clothed(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = ipaddr.IPv4.parse(address).toByteArray();
  const hex = (...bytes: number[]) => ((bytes[0] ?? 0) * 256 + (bytes[1] ?? 0)).toString(16);
  const [high, low] = [hex(a, b), hex(c, d)];
  return [
    ...[
      `::ffff:${address}`,
      `::ffff:${high}:${low}`,
      `::${high}:${low}`,
      `::ffff:0:${high}:${low}`,
    ],
    ...[`64:ff9b::${address}`, `64:ff9b:1::${high}:${low}`, `2002:${high}:${low}::1`],
    // Teredo: the client's address is inverted.
    `2001:0:4136:e378:8000:63bf:${hex(255 - a, 255 - b)}:${hex(255 - c, 255 - d)}`,
  ];
}

const all = [...IPV4, ...IPV6].flatMap((range) =>
  edges(range).map((address) => ({ range, address })),
);

test.each(all)('$address of $range is not called', ({ address }) => {
  expect(addressProblem(address, HTTPS, STRICT_ADDRESSES)).not.toBeNull();
  const host = address.includes(':') ? `[${address.toUpperCase()}]` : address;
  expect(urlProblem(`https://${host}/`, STRICT_ADDRESSES)).not.toBeNull();
});

test.each(IPV4)('nor is anything of %s in clothes of IPv6', (range) => {
  const called = edges(range)
    .flatMap(clothed)
    .filter((address) => addressProblem(address, HTTPS, STRICT_ADDRESSES) === null);
  expect(called).toEqual([]);
});

test.each([
  ...['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.0', '169.253.255.255', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.0.3.0'],
  ...['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
  ...['2001:200::1', '2003::1', '2606:4700::1111', '2a00::1'],
])('its neighbour %s is', (address) => {
  expect(addressProblem(address, HTTPS, STRICT_ADDRESSES)).toBeNull();
});

const METADATA = [
  ...['169.254.169.254', '169.254.169.254.', '2852039166', '0xa9fea9fe', '0xA9FEA9FE'],
  ...['0251.0376.0251.0376', '169.254.43518', '169.16689662', '0xa9.0xfe.0251.254'],
  ...['169.254.169.0xfe', '１６９.254.169.254', '169。254。169。254', '%31%36%39.254.169.254'],
  ...['[::ffff:169.254.169.254]', '[::FFFF:A9FE:A9FE]', '[0:0:0:0:0:ffff:a9fe:a9fe]'],
  ...['[64:ff9b::a9fe:a9fe]', '[2002:a9fe:a9fe::]', '[fd00:ec2::254]', '[FD00:0EC2::0254]'],
];

test.each(METADATA)('a URL of the host %s is refused, whatever leads to it', async (host) => {
  for (const url of [`http://${host}/`, `HTTP://${host}:80/`, `http:\\\\${host}/a`]) {
    expect(urlProblem(url, OPEN)).toBe('its address is not public');
    const report = await calling()(url);
    expect(report.answer).toMatchObject({ kind: 'not_sent', reason: 'address_refused' });
  }
});

test.each([
  'https://[fe80::1%25eth0]/',
  'https://[fe80::1%eth0]/',
  'https://256.1.1.1/',
  'https://1.2.3.4.5.6/',
  'https://0x100000000/',
  'https://',
])('%s is no address at all', (url) => {
  expect(WebAddress.safeParse(url).success).toBe(false);
});

test.each([
  'https://user@hooks.example/',
  'https://user:word@hooks.example/',
  'https://hooks.example@169.254.169.254/',
  'https:\\\\user@hooks.example/',
  'https:///user@hooks.example/',
  'ftp://hooks.example/',
  'file:///etc/passwd',
  'gopher://hooks.example/',
])('%s is not taken as an address of a target', (url) => {
  expect(WebAddress.safeParse(url).success).toBe(false);
});

test.each(['localhost', 'LOCALHOST', 'localhost.', 'xn--lcalhost-0za.test', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ'])(
  'the name %s is judged by what it leads to',
  async (host) => {
    const report = await calling(['127.0.0.1'])(`http://${host}/`);
    expect(report.answer).toEqual({ kind: 'not_sent', reason: 'address_refused' });
  },
);

test.each(all)('a name that leads to $address is not called', async ({ address }) => {
  const report = await calling(['8.8.8.8', address])('http://hooks.test/');
  expect(report.answer).toEqual({ kind: 'not_sent', reason: 'address_refused' });
});

const closers: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closers) await close();
});

/** A call by the policy that allows most of what is public; names lead where it says. */
function calling(found: readonly string[] = []) {
  const lookUp: LookUp = (_host, _options, done) => {
    done(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  const targets = httpTargets({ policy: () => Promise.resolve(OPEN), lookUp });
  closers.push(() => targets.close());
  return (url: string) =>
    targets.call({
      ...{ url, headers: {}, body: Buffer.from('{}'), timeoutMs: 10_000, success: null },
      signal: new AbortController().signal,
    });
}
