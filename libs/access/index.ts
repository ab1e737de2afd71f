export { API_KEY_FORM, parseApiKey, pepperOf, type Pepper } from './domain/api-key.js';
export { assertAdministers, assertFullKey, requires } from './domain/authority.js';
export { organisationCodec } from './domain/organisation.events.js';
export { callerOfIdentity, isLinked, workspacesOfIdentity } from './projections/callers.js';
export { directory } from './projections/directory.js';
export { accessChange, accessStreamsOf, type AccessChange } from './projections/changes.js';
export {
  everyWorkspace,
  memberView,
  ownership,
  principalStanding,
  workspaceView,
  type PrincipalStanding,
} from './projections/views.js';
