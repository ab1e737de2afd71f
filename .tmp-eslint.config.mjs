import tseslint from '/work/main/node_modules/typescript-eslint/dist/index.js';
export default tseslint.config({ files:['**/*.ts'], extends:[...tseslint.configs.strictTypeChecked], languageOptions:{parserOptions:{project:'/work/main/tsconfig.json',tsconfigRootDir:'/work/main'}}, rules:{complexity:['error',12],'max-lines':['error',300],'no-console':'error'} });
