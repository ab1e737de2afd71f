import { Doc, IsText, IsWhen } from '#kernel/shape-decorators.js';

export class InvitationInput {
  @Doc(
    'The person of your organisation who is to sign in; an account that is there gets a new password.',
  )
  @IsText({ max: 100 })
  principal!: string;
  @Doc(
    'What the person will type to sign in: a name or mail address. Kept beside the ledger, not in it.',
  )
  @IsText({ max: 200 })
  login!: string;
}

export class Invitation {
  @IsText() principal!: string;
  @IsText() login!: string;
  @Doc('Link to a page where a password is set. Works once; whoever has it can act as the person.')
  @IsText()
  url!: string;
  @IsWhen() expires_at!: string;
}
