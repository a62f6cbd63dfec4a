const { availableParallelism } = require('node:os');

/**
 * Two projects: `house` needs no server and runs in `npm run check`; `product` runs against a real
 * Postgres and a real Temporal server, which the global set-up starts unless the environment names
 * running ones.
 */
const shared = {
  rootDir: __dirname,
  testEnvironment: 'node',
  // Saves time, no more.
  runtime: '<rootDir>/test/support/runtime.cjs',
  transform: {
    '^.+\\.(ts|js)$': [
      '@swc/jest',
      {
        jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs' },
      },
    ],
  },
  // ES modules that Node can require and jest cannot.
  transformIgnorePatterns: [
    '/node_modules/(?!(jose|postgrator|glob|path-scurry|minimatch)/)',
    '<rootDir>/dist/',
  ],
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/dist-bench', '<rootDir>/.waybill'],
};

module.exports = {
  // Tests wait for servers more than they compute: one more than there are cores. Above four the servers
  // would be the limit.
  maxWorkers: Math.min(4, availableParallelism() + 1),
  testSequencer: '<rootDir>/test/support/sequencer.cjs',
  projects: [
    {
      ...shared,
      displayName: 'house',
      testMatch: ['<rootDir>/test/house/**/*.test.ts'],
      // The CLI loads a command as the build names it, `./up.js`; here that is `./up.ts`.
      moduleNameMapper: { '^(\\./[\\w-]+)\\.js$': ['$1', '$1.js'] },
    },
    {
      ...shared,
      displayName: 'product',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['<rootDir>/test/house/'],
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    },
  ],
  testTimeout: 60_000,
};
