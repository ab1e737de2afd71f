import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Param, ReadDatabase, Row } from '#projections/read-database.js';

/** What the provider keeps (sessions, grants, codes, refresh tokens, registered clients), in the table `stored` of the accounts. */
export class ProviderStore implements Adapter {
  constructor(
    private readonly model: string,
    private readonly db: ReadDatabase,
    private readonly clock: () => number,
  ) {}

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const now = Math.floor(this.clock() / 1_000);
    // A little of what is over goes with every write.
    this.db.run('DELETE FROM stored WHERE expires <= ?', now);
    this.db.run(
      'INSERT OR REPLACE INTO stored VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      this.model,
      id,
      JSON.stringify(payload),
      // Absent for a registered client, which has no end.
      typeof expiresIn === 'number' ? now + expiresIn : null,
      payload.accountId ?? null,
      payload.grantId ?? null,
      payload.uid ?? null,
      payload.userCode ?? null,
    );
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.payload('id = ?', id);
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.payload('uid = ?', uid);
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.payload('user_code = ?', userCode);
  }

  async consume(id: string): Promise<void> {
    const payload = await this.find(id);
    if (!payload) return;
    payload.consumed = Math.floor(this.clock() / 1_000);
    this.db.run(
      'UPDATE stored SET payload = ? WHERE model = ? AND id = ?',
      JSON.stringify(payload),
      this.model,
      id,
    );
  }

  async destroy(id: string): Promise<void> {
    this.db.run('DELETE FROM stored WHERE model = ? AND id = ?', this.model, id);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    this.db.run('DELETE FROM stored WHERE grant_id = ?', grantId);
  }

  private payload(where: string, value: Param): AdapterPayload | undefined {
    const row: Row | undefined = this.db.get(
      `SELECT payload FROM stored WHERE model = ? AND ${where} AND (expires IS NULL OR expires > ?)`,
      this.model,
      value,
      Math.floor(this.clock() / 1_000),
    );
    return row && (JSON.parse(row['payload'] as string) as AdapterPayload);
  }
}
