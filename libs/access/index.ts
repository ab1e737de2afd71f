export { API_KEY_FORM, apiKeyFrom, parseApiKey, pepperOf, type Pepper } from './domain/api-key.js';
export { callerOfIdentity, workspacesOfIdentity } from './projections/callers.js';
export { directory } from './projections/directory.js';
export {
  memberView,
  workspaceView,
  type MemberView,
  type WorkspaceView,
} from './projections/views.js';
