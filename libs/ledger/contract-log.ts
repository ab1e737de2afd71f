import { IsBoolean, IsIn, IsInt, IsOptional, Min } from 'class-validator';
import { Doc, IsPosition, IsText, ListOf } from '#kernel/shape-decorators.js';

/** Names of keys and logs, roots and hashes are as in C2SP signed-note, tlog-checkpoint and tlog-tiles; hashes are base64 of 32 bytes. */
export class LogInput {
  @Doc('Wait until this position is seen, so that you read your own write.')
  @IsOptional()
  @IsPosition()
  at_least?: string;
}

export class TileInput {
  @Doc(
    'What follows `tile/` in C2SP tlog-tiles: level and index, `.p/<width>` where it is partial, `entries` in place of the level for the records.',
  )
  @IsText({ max: 60 })
  path!: string;
}

export class InclusionInput {
  @Doc('Of an event of the workspace, as replies and GET /v1/events give it.')
  @IsPosition()
  position!: string;
}

export class Inclusion {
  @Doc('Name of the log: first line of its checkpoints.') @IsText() origin!: string;
  @Doc('Zero-based place of the event among all events of the workspace.') @IsInt() index!: number;
  @Doc('SHA-256 of a zero byte and the event’s stored header.') @IsText() leaf_hash!: string;
  @Doc('From the leaf’s sibling up to a child of the root.')
  @IsText({}, { each: true })
  hashes!: string[];
  @IsInt() tree_size!: number;
  @IsText() root_hash!: string;
  @Doc('Signed note over size and root.') @IsText() checkpoint!: string;
  @Doc('All of that as one C2SP tlog-proof, for verifiers.') @IsText() tlog_proof!: string;
}

export class ConsistencyInput {
  @Doc('Size of the older tree.') @IsInt() @Min(1) from!: number;
  @Doc('Size of the newer tree. Default: that of the last checkpoint.')
  @IsOptional()
  @IsInt()
  @Min(1)
  to?: number;
}

export class Consistency {
  @IsText() origin!: string;
  @IsInt() from!: number;
  @IsInt() to!: number;
  @IsText() from_root!: string;
  @IsText() to_root!: string;
  @Doc('Proof of RFC 6962, section 2.1.2.') @IsText({}, { each: true }) hashes!: string[];
}

export class LogKey {
  @Doc('Verifier key of C2SP signed-note: name, key id, type and public key.')
  @IsText()
  vkey!: string;
  @Doc(
    'opened: the first key. rotated: the key before it signed that this one follows. replaced: the key before it was lost, only the operator’s word stands for this one.',
  )
  @IsIn(['opened', 'rotated', 'replaced'])
  how!: 'opened' | 'rotated' | 'replaced';
  @Doc('Of the event that introduced it.') @IsPosition() position!: string;
  @Doc('rotated: the note that the former key signed.') @IsOptional() @IsText() note?: string;
  @Doc('replaced: what the operator said. Untrusted text.') @IsOptional() @IsText() reason?: string;
}

export class LogKeyList {
  @Doc('Name of the workspace’s log.') @IsText() origin!: string;
  @Doc('In the order in which they came; the last one signs.')
  @ListOf(() => LogKey)
  keys!: LogKey[];
  @Doc('The last one as PEM (SubjectPublicKeyInfo), for openssl.') @IsText() public_key!: string;
}

export class RotationInput {
  @Doc(
    'The key that is to sign no more, as GET /v1/log/keys shows it. Where it does not sign any more nothing is done, so sending this again is safe.',
  )
  @IsText({ max: 400 })
  from!: string;
  @Doc(
    'Only where this server does not have the private key: nobody then signs that the new key follows, and whoever trusts the former has to be told the new one.',
  )
  @IsOptional()
  @IsBoolean()
  lost?: boolean;
  @Doc('Why. Needed with `lost`; it is then in the log for ever.')
  @IsOptional()
  @IsText({ max: 500 })
  reason?: string;
}

export class Rotated extends LogKeyList {
  @Doc(
    'Every log of the ledger is led on. False: some wait, and are led on before they are signed again.',
  )
  @IsBoolean()
  finished!: boolean;
}
