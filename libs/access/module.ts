import { Module } from '@nestjs/common';
import * as handlers from './handlers.js';

@Module({ providers: Object.values(handlers) })
export class AccessModule {}

export {
  AddMember,
  Authenticate,
  BootstrapWorkspace,
  IssueCredential,
  RevokeCredential,
} from './messages.js';
