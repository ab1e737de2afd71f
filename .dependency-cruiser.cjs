/** The import rules of docs/architecture.md, under the same names. scripts/planted-violations.mjs shows that each one bites. */

/** Everything in libs/ that is no mechanism is a context, also one that is added later. */
const MECHANISM = '^libs/(?:kernel|event-store|projections|transparency|http|mcp)/';
const CONTEXT = '^libs/(?!(?:kernel|event-store|projections|transparency|http|mcp)/)([^/]+)/';
const KERNEL = '^libs/kernel/';
const TESTING = [
  '[.]spec[.]ts$',
  '^(?:test|bench)/',
  '^libs/kernel/testing[.]ts$',
  '^libs/[^/]+/conformance[^/]*[.]ts$',
];
/** Started by their path, as a program, a worker thread or a tool's configuration: nobody imports them. */
const STARTED = [
  '^apps/[^/]+/src/(?:main|stdio)[.]tsx?$',
  '^libs/.*-(?:thread|writer)[.]ts$',
  '^apps/cli/precedent[.]mjs$',
  '^apps/[^/]+/[^/]+[.]config[.]ts$',
  '[.]d[.]ts$',
];

const anyOf = (...packages) => `(?:^|node_modules/)(?:${packages.join('|')})(?:/|$)`;

/** Forbids, for production files that match `from`, every import but those of `allowed`. */
const only = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from, pathNot: TESTING },
  to: { pathNot: allowed },
});

const never = (name, from, to) => ({
  name,
  severity: 'error',
  from: { pathNot: TESTING, ...from },
  to,
});

const driver = (packages, owners) =>
  never('one-door-per-driver', { pathNot: [...TESTING, ...owners] }, { path: packages });

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    only('domain-is-pure', '^libs/([^/]+)/domain/', [KERNEL, '^libs/$1/domain/']),

    only('contract-is-portable', '^libs/([^/]+)/contract[^/]*[.]ts$', [
      KERNEL,
      '^libs/$1/contract[^/]*[.]ts$',
      anyOf('class-validator', 'class-transformer'),
    ]),

    never(
      'doors-use-the-bus',
      { path: '^libs/[^/]+/(?:tools/|[^/]+[.]controller[.]ts$)' },
      {
        path: [
          '^libs/[^/]+/(?:domain|projections|reactions)/',
          '^libs/[^/]+/handlers[^/]*[.]ts$',
          '^libs/(?:event-store|projections)/',
        ],
      },
    ),

    never(
      'contexts-meet-at-the-index',
      { path: CONTEXT },
      { path: CONTEXT, pathNot: ['^libs/$1/', '^libs/[^/]+/(?:index|module)[.]ts$'] },
    ),
    never(
      'contexts-meet-at-the-index',
      { path: '^libs/decisions/' },
      { path: CONTEXT, pathNot: '^libs/(?:decisions|access|sources)/' },
    ),
    never('contexts-meet-at-the-index', { path: CONTEXT }, { path: '^apps/' }),
    never(
      'contexts-meet-at-the-index',
      { path: '^apps/' },
      { path: CONTEXT, pathNot: '^libs/[^/]+/(?:index|module|contract[^/]*)[.]ts$' },
    ),
    never(
      'contexts-meet-at-the-index',
      { path: '^apps/console/' },
      { path: '^libs/', pathNot: ['^libs/[^/]+/contract[^/]*[.]ts$', KERNEL] },
    ),

    never('mechanism-knows-no-context', { path: MECHANISM }, { path: [CONTEXT, '^apps/'] }),

    driver('^(?:node:)?sqlite$', [
      '^libs/event-store/sqlite[^/]*[.]ts$',
      '^libs/projections/read-database[.]ts$',
    ]),
    driver(anyOf('@eventstore', '@kurrent'), ['^libs/event-store/eventstoredb[^/]*[.]ts$']),
    driver(anyOf('@modelcontextprotocol'), ['^libs/mcp/', '^apps/cli/src/ask[.]ts$']),

    never(
      'auditor-has-no-framework',
      { path: '^apps/cli/' },
      { path: anyOf('@nestjs'), reachable: true },
    ),

    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },

    {
      name: 'no-orphans',
      severity: 'error',
      module: {
        path: '^(?:apps|libs)/',
        pathNot: [...STARTED, ...TESTING],
        numberOfDependentsLessThan: 1,
      },
      from: {},
    },

    never('no-test-code-in-production', { path: '^(?:apps|libs)/' }, { path: TESTING }),
    never(
      'no-test-code-in-production',
      { path: '^(?:apps|libs)/' },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(?:dist|data|coverage)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    // An import of a type is an import: it couples as much.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      conditionNames: ['precedent-source', 'import', 'node', 'default', 'types'],
      exportsFields: ['exports'],
      mainFields: ['module', 'main', 'types'],
    },
    combinedDependencies: false,
  },
};
