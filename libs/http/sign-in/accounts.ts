import { createHash, randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { Refusal, invalid } from '#kernel/refusal.js';
import { ReadDatabase } from '#projections/read-database.js';
import { assertPassword, hashPassword, isPassword } from './passwords.js';

const TABLES = `
CREATE TABLE IF NOT EXISTS account (
  subject TEXT PRIMARY KEY, login TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, password TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS invitation (
  token_sha256 TEXT PRIMARY KEY, subject TEXT NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stored (
  model TEXT NOT NULL, id TEXT NOT NULL, payload TEXT NOT NULL, expires INTEGER, account TEXT, grant_id TEXT, uid TEXT, user_code TEXT,
  PRIMARY KEY (model, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS stored_grant ON stored (grant_id);
CREATE INDEX IF NOT EXISTS stored_account ON stored (account);
CREATE INDEX IF NOT EXISTS stored_uid ON stored (uid);
CREATE INDEX IF NOT EXISTS stored_expires ON stored (expires);`;

export interface Account {
  /** Random; what a token says of its person and what a principal is registered with. */
  subject: string;
  /** What the person types: a mail address, say. Personal data; in this file only. */
  login: string;
}

export interface Invitation extends Account {
  /** Shown once; only its hash is kept. */
  token: string;
  /** Milliseconds since 1970. */
  expires: number;
}

/** How long an invitation may be used. */
export const INVITATION_MS = 72 * 3_600_000;

/**
 * Accounts of people who sign in here, with what the provider keeps for them, in one file. Passwords are argon2id hashes, invitations
 * hashes of their tokens. Not part of the ledger: deleting an account takes nothing from history.
 */
export class Accounts {
  readonly db: ReadDatabase;

  constructor(
    path: string,
    private readonly clock: () => number,
  ) {
    // For its owner alone; SQLite gives its other files the same mode.
    closeSync(openSync(path, 'a', 0o600));
    this.db = ReadDatabase.openForWriting(path);
    // A password that was set must not be gone after a power cut.
    this.db.exec('PRAGMA synchronous=FULL; PRAGMA secure_delete=ON');
    this.db.exec(TABLES);
  }

  /** Account of a subject, where it still is one. */
  find(subject: string): Account | undefined {
    const row = this.db.get('SELECT login FROM account WHERE subject = ?', subject);
    return row && { subject, login: row['login'] as string };
  }

  /**
   * A one-time link to set a password, for the account of `subject`, which is made where there is none. `owner`: who may do so again;
   * whoever holds the link can act as the person, so nobody else ever gets one. A later invitation takes the place of an earlier one.
   * The password that an account has holds until the invitation is used.
   */
  invite(subject: string, login: string, owner: string): Invitation {
    const name = this.assertFree(subject, login, owner);
    const token = randomBytes(32).toString('base64url');
    const [now, expires] = [this.clock(), this.clock() + INVITATION_MS];
    this.db.transaction(() => {
      this.db.run(
        'INSERT INTO account VALUES (?, ?, ?, NULL) ON CONFLICT (subject) DO UPDATE SET login = excluded.login',
        subject,
        name,
        owner,
      );
      this.db.run('DELETE FROM invitation WHERE subject = ? OR expires <= ?', subject, now);
      this.db.run('INSERT INTO invitation VALUES (?, ?, ?)', digest(token), subject, expires);
    });
    return { subject, login: name, token, expires };
  }

  /** Refuses what `invite` would refuse; returns the login as it is kept. */
  assertFree(subject: string, login: string, owner: string): string {
    const name = folded(login);
    if (name === '') throw invalid('login', 'is blank', 'give a name or mail address');
    const taken = this.db.get('SELECT subject FROM account WHERE login = ?', name)?.['subject'];
    if (taken !== undefined && taken !== subject)
      throw new Refusal('conflict', 'login_taken', 'another account has this login', {
        path: 'login',
        fix: 'choose another one',
      });
    const of = this.db.get('SELECT owner FROM account WHERE subject = ?', subject)?.['owner'];
    if (of === undefined || of === owner) return name;
    throw new Refusal('forbidden', 'foreign_account', 'the account is of another organisation', {
      path: 'principal',
      fix: 'ask the organisation that invited this person',
    });
  }

  /** Whom an invitation is for, while it holds. */
  invited(token: string): Account | undefined {
    const row = this.db.get(
      'SELECT subject FROM invitation WHERE token_sha256 = ? AND expires > ?',
      digest(token),
      this.clock(),
    );
    return row && this.find(row['subject'] as string);
  }

  /** Uses an invitation up. Whatever the account had signed in before is signed out. */
  async setPassword(token: string, password: string): Promise<Account> {
    const account = this.invited(token);
    if (!account) throw expired();
    assertPassword(password, account.login);
    const hash = await hashPassword(password);
    this.db.transaction(() => {
      // Used in the meantime, by another click.
      if (!this.invited(token)) throw expired();
      this.db.run('DELETE FROM invitation WHERE subject = ?', account.subject);
      this.db.run('UPDATE account SET password = ? WHERE subject = ?', hash, account.subject);
      this.db.run('DELETE FROM stored WHERE account = ?', account.subject);
    });
    return account;
  }

  /** The account behind a login and its password; never says which of the two was wrong. */
  async verify(login: string, password: string): Promise<Account | undefined> {
    const row = this.db.get('SELECT * FROM account WHERE login = ?', folded(login));
    const stored = row?.['password'] as string | null | undefined;
    if (!(await isPassword(password, stored ?? undefined)) || !row) return undefined;
    return { subject: row['subject'] as string, login: row['login'] as string };
  }

  /** Nobody signs in with it any more, and its login is in no file any more. */
  remove(subject: string): void {
    this.db.transaction(() => {
      for (const [table, column] of [
        ['account', 'subject'],
        ['invitation', 'subject'],
        ['stored', 'account'],
      ])
        this.db.run(`DELETE FROM ${table} WHERE ${column} = ?`, subject);
    });
    this.db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  close(): void {
    this.db.close();
  }
}

function folded(login: string): string {
  return login.normalize('NFKC').trim().toLowerCase();
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function expired(): Refusal {
  return new Refusal('not_found', 'invitation_expired', 'this link is no longer valid', {
    fix: 'ask an admin for a new one',
  });
}
