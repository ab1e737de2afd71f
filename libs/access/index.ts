export { API_KEY_FORM, apiKeyFrom, parseApiKey, pepperOf, type Pepper } from './domain/api-key.js';
export { assertAdministers } from './domain/authority.js';
export { callerOfIdentity, workspacesOfIdentity } from './projections/callers.js';
export { directory } from './projections/directory.js';
export { accessChange, accessStreamsOf, type AccessChange } from './projections/changes.js';
export {
  everyWorkspace,
  memberView,
  ownership,
  workspaceView,
  type MemberView,
  type WorkspaceView,
} from './projections/views.js';
