/** Source runs untranspiled by tsc: swc per file, the `precedent-source` condition resolves `#lib/file.js` to libs/lib/file.ts. */
const options = {
  jsc: {
    target: 'es2024',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

export default {
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['precedent-source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest', options] },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testMatch: ['<rootDir>/{apps,libs,test,bench}/**/*.spec.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  testTimeout: 60_000,
  // Never in Jest's own process: what a spec leaves behind (a native thread that will not end) then cannot keep Jest from ending.
  maxWorkers: 2,
  workerIdleMemoryLimit: '2GB',
};
