/**
 * Which module may import which (docs/architecture.md, "Imports point inwards"). Each comment says
 * what to do about a violation.
 *
 * Type-only imports count: a type that points the wrong way is a dependency, too.
 */

/** What the code of each module below src/ may import of the others; itself always. */
const MAY_IMPORT = {
  client: [],
  domain: [],
  workflows: ['domain'],
  schemas: ['domain'],
  secrets: ['domain'],
  memory: ['domain'],
  signing: ['domain', 'schemas'],
  hosts: ['domain', 'schemas', 'signing'],
  conformance: ['domain', 'schemas', 'signing', 'hosts'],
  targets: ['domain', 'schemas', 'signing'],
  temporal: ['domain'],
  db: ['domain', 'schemas'],
  services: [
    ...['domain', 'schemas', 'secrets', 'signing', 'targets', 'hosts', 'conformance', 'db'],
    'points',
  ],
  activities: ['domain', 'services'],
  telemetry: ['domain', 'schemas', 'services'],
  http: ['domain', 'schemas', 'secrets', 'signing', 'hosts', 'db', 'services', 'points'],
  grpc: ['domain', 'schemas', 'services', 'http'],
  demo: ['domain', 'schemas', 'signing'],
  workers: [
    ...['domain', 'schemas', 'secrets', 'signing', 'targets', 'temporal', 'telemetry', 'db'],
    ...['services', 'activities', 'http', 'grpc', 'hosts', 'points'],
  ],
  qualification: ['domain', 'schemas', 'signing', 'hosts', 'db', 'workers/embedded'],
  cli: [
    ...['domain', 'schemas', 'secrets', 'signing', 'db', 'services', 'http', 'demo', 'workers'],
    ...['hosts', 'conformance', 'points', 'client', 'qualification'],
  ],
};

const known = Object.keys(MAY_IMPORT);

/** `points` is the single file src/points.ts, everything else a folder. */
const placeOf = (name) => (name === 'points' ? 'points\\.ts$' : `${name}/`);

const directions = known.map((name) => ({
  name: `${name}-imports`,
  comment:
    `src/${name} may import ${[name, ...MAY_IMPORT[name]].join(', ')} and nothing else of src. ` +
    'Move what you need to a module further in, or pass it in as a parameter from the composition ' +
    'in src/workers.',
  severity: 'error',
  from: { path: `^src/${name}/` },
  to: {
    path: '^src/',
    pathNot: [name, ...MAY_IMPORT[name]].map((other) => `^src/${placeOf(other)}`),
  },
}));

module.exports = {
  forbidden: [
    ...directions,
    {
      name: 'known-modules',
      comment:
        'A new module below src/ needs its line in MAY_IMPORT of .dependency-cruiser.cjs and in ' +
        'docs/architecture.md.',
      severity: 'error',
      from: { path: '^src/', pathNot: [...known, 'points'].map((name) => `^src/${placeOf(name)}`) },
      to: {},
    },
    {
      name: 'domain-is-a-leaf',
      comment:
        'src/domain runs inside workflows and imports nothing but itself, neither packages nor ' +
        'Node. Take time, randomness and bytes as parameters.',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { pathNot: '^src/domain/' },
    },
    {
      name: 'workflows-are-sandboxed',
      comment:
        'Workflow code imports src/domain and the SDK packages for workflows only: anything else ' +
        'breaks replay or bloats the bundle. Put effects into an activity, decisions into src/domain.',
      severity: 'error',
      from: { path: '^src/workflows/' },
      to: {
        pathNot: ['^src/(domain|workflows)/', '^node_modules/@temporalio/(workflow|common)/'],
      },
    },
    {
      name: 'only-db-speaks-sql',
      comment: 'Only src/db imports pg. Add a named statement and a function there.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/db/' },
      to: { path: '^node_modules/(pg|postgrator|@types/pg)/' },
    },
    {
      name: 'temporal-sdk-at-the-edges',
      comment:
        'The Temporal SDK belongs to src/temporal, workflows, activities and workers, and to the ' +
        'demo, which looks at the server as a person would. A use case in src/services must work ' +
        'for any driver.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(temporal|workflows|activities|workers|demo)/' },
      to: { path: '^node_modules/@temporalio/' },
    },
    {
      name: 'src-stands-alone',
      comment: 'The product imports neither its tests nor its benchmarks.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|dist|dist-bench)/' },
    },
    {
      name: 'tests-stay-out-of-the-bench',
      comment: 'Tests do not import benchmarks. Move what both need to test/support.',
      severity: 'error',
      from: { path: '^test/' },
      to: { path: '^(bench|dist|dist-bench)/' },
    },
    {
      name: 'no-dev-dependencies',
      comment:
        'A package that src imports must be in "dependencies" of package.json, or it is missing ' +
        'where only those are installed.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'listed-dependencies',
      comment:
        'The package is not in package.json: it is there by accident, through another one. ' +
        'Install it with an exact version.',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'resolvable',
      comment: 'There is no such file or package. Correct the path, or install the package.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-circles',
      comment:
        'The files import each other in a circle, be it for types alone. Move what both need to a ' +
        'third file.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'Nothing imports this file and it imports nothing. Remove it, or use it.',
      severity: 'error',
      from: { orphan: true },
      to: {},
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Keeps imports that exist for types only.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'types', 'default'],
    },
  },
};
