export { API_KEY_FORM, apiKeyFrom, parseApiKey } from './domain/api-key.js';
export { directory, workspaceView, type WorkspaceView } from './projections/directory.js';
