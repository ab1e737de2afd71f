import { defineConfig } from 'eslint/config';
import { builtinRules } from 'eslint/use-at-your-own-risk';
import prettier from 'eslint-config-prettier/flat';
import typescript from 'typescript-eslint';

const TYPESCRIPT = '**/*.{ts,tsx}';
const TESTS = [
  '**/*.spec.ts',
  'test/**/*.ts',
  'bench/**/*.ts',
  'libs/kernel/testing.ts',
  'libs/*/conformance*.ts',
];
const SETTINGS = ['apps/*/src/settings*.ts', 'apps/*/src/environment.ts'];
const SCRIPTS = '**/*.{mjs,cjs}';

/** ESLint's own recommended set, without the package that only lists it. */
const recommended = Object.fromEntries(
  [...builtinRules]
    .filter(([, rule]) => rule.meta.docs.recommended)
    .map(([name]) => [name, 'error']),
);

const fromClock = (object, property) => ({
  object,
  property,
  message: 'Time and chance come in as arguments: the same command and state give the same events.',
});

export default defineConfig(
  { ignores: ['dist/', 'data/', 'coverage/', '**/node_modules/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  { rules: recommended },
  {
    files: [TYPESCRIPT],
    extends: [typescript.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      // Counts a `switch` as one decision: one over every event of a stream is long, not tangled.
      complexity: ['error', { max: 12, variant: 'modified' }],
      'max-lines': ['error', 300],
      'no-console': 'error',
      eqeqeq: 'error',
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'A setting is declared, checked and documented once: read it from the settings.',
        },
      ],
      'no-restricted-imports': [
        'error',
        {
          paths: [
            { name: 'node:process', message: 'Use the global; its env is in settings only.' },
          ],
        },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // A `default` may stand for "all others" outside domain/ (a projection skips most events).
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],

      // Numbers read the same in a message however they are written; null and objects do not.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // A Nest module is a class without members.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // `() => done()` and `if (late) return close();` say all there is to say.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // `const { secret: _secret, ...shown } = row` is how a field is left out.
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // A contract class is the shape of a message: a literal of that shape is one, and a copy needs no prototype.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-misused-spread': 'off',
      // A method of an asynchronous port need not wait in every engine, and `async` turns its throws into rejections.
      '@typescript-eslint/require-await': 'off',
      // It takes a flag for constant that another turn of the event loop, or a caller in JavaScript, changes.
      '@typescript-eslint/no-unnecessary-condition': 'off',
    },
  },
  {
    files: ['libs/*/domain/**/*.ts'],
    ignores: ['**/*.spec.ts'],
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      'no-restricted-properties': [
        'error',
        fromClock('Date', 'now'),
        fromClock('Math', 'random'),
        fromClock('performance', 'now'),
        fromClock('crypto', 'randomUUID'),
        fromClock('DateTime', 'now'),
        { object: 'process', message: 'domain/ knows nothing of the process it runs in.' },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector:
            ':matches(NewExpression, CallExpression)[callee.name="Date"][arguments.length=0]',
          message: 'Time comes in as an argument.',
        },
        { selector: ':function[async=true]', message: 'domain/ waits for nothing.' },
        { selector: 'ImportExpression', message: 'domain/ loads nothing at run time.' },
      ],
    },
  },
  {
    files: SETTINGS,
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: TESTS,
    rules: {
      'max-lines': ['error', 500],
      // A journey is one long story; splitting it hides its order.
      complexity: 'off',
      // Tests print what they measured.
      'no-console': 'off',
      // A test starts programs with an environment of its own.
      'no-restricted-properties': 'off',
      // An empty class is a fixture for what looks at classes.
      '@typescript-eslint/no-extraneous-class': 'off',
      // `expect(object.method)` looks at a method without calling it.
      '@typescript-eslint/unbound-method': 'off',
      // A wrong assumption about a fixture fails the test, which is what a test is for.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Replies are taken as they come; a wrong shape fails the expectation.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  {
    files: [SCRIPTS],
    languageOptions: {
      sourceType: 'module',
      globals: Object.fromEntries(
        ['process', 'console', 'performance', 'URL', 'fetch', 'setTimeout', 'clearTimeout']
          .concat('AbortSignal', 'Buffer', 'TextEncoder', 'TextDecoder', 'structuredClone')
          .map((name) => [name, 'readonly']),
      ),
    },
    rules: {
      complexity: ['error', { max: 12, variant: 'modified' }],
      'max-lines': ['error', 300],
      eqeqeq: 'error',
    },
  },
  { files: ['**/*.cjs'], languageOptions: { sourceType: 'commonjs' } },
  prettier,
);
