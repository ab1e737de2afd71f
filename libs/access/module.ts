import { Module, type DynamicModule } from '@nestjs/common';
import { AccessController } from './access.controller.js';
import {
  AuthenticateHandler,
  BootstrapWorkspaceHandler,
  KEY_RING,
  type KeyRing,
} from './handlers.js';
import * as credentials from './handlers-credentials.js';
import * as members from './handlers-members.js';
import {
  GetCredentialHandler,
  GetMemberHandler,
  GetOrganisationHandler,
  GetPrincipalHandler,
  GetWorkspaceSettingsHandler,
  ListCredentialsHandler,
  ListMembersHandler,
  ListOrganisationsHandler,
  ListPrincipalsHandler,
  ListWorkspacesHandler,
} from './handlers-queries.js';
import * as organisations from './handlers-organisations.js';
import { SpendRequestStateHandler } from './handlers-request-state.js';

@Module({})
export class AccessModule {
  static around(ring: KeyRing): DynamicModule {
    return {
      module: AccessModule,
      controllers: [AccessController],
      providers: [
        { provide: KEY_RING, useValue: ring },
        AuthenticateHandler,
        BootstrapWorkspaceHandler,
        GetCredentialHandler,
        GetMemberHandler,
        GetOrganisationHandler,
        GetPrincipalHandler,
        GetWorkspaceSettingsHandler,
        ListCredentialsHandler,
        ListMembersHandler,
        ListOrganisationsHandler,
        ListPrincipalsHandler,
        ListWorkspacesHandler,
        ...Object.values(organisations),
        ...Object.values(members),
        ...Object.values(credentials),
        SpendRequestStateHandler,
      ],
    };
  }
}

export {
  AddMember,
  Authenticate,
  BootstrapWorkspace,
  GetPrincipal,
  IssueCredential,
  LinkIdentity,
  RegisterPrincipal,
} from './messages.js';
export { SpendRequestState } from './messages-request-state.js';
export { LastUsed } from './projections/last-used.js';
export type { KeyRing } from './handlers.js';
