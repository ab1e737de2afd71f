import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { filesBelow, formsOf, traces } from './traces.js';

const dir = mkdtempSync(join(tmpdir(), 'precedent-traces-'));
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

const MARKER = 'Zyxq "Personne" é 4711';

describe('the search for traces', () => {
  it('finds each form wherever it stands, at the edge of what is read at once too', () => {
    const at = (8 << 20) - 5;
    for (const before of [0, 1, 2, 3, at]) {
      const text = Buffer.concat([
        Buffer.alloc(before, 0x41),
        Buffer.from(MARKER),
        Buffer.from('!'),
      ]);
      writeFileSync(join(dir, 'plain'), text);
      writeFileSync(join(dir, 'base64'), text.toString('base64'));
      writeFileSync(join(dir, 'url'), text.toString('base64url'));
      writeFileSync(join(dir, 'hex'), text.toString('hex'));
      writeFileSync(join(dir, 'wide'), Buffer.from(`x${MARKER}`, 'utf16le'));
      writeFileSync(join(dir, 'json'), JSON.stringify({ a: MARKER }));
      writeFileSync(join(dir, 'nested'), JSON.stringify(JSON.stringify({ a: MARKER })));
      writeFileSync(join(dir, 'lower'), MARKER.toLowerCase());
      writeFileSync(join(dir, 'address'), `?q=${encodeURIComponent(MARKER)}`);
      writeFileSync(join(dir, 'clean'), `${MARKER.slice(0, -1)} ${'QUFB'.repeat(100)}`);
      const found = traces(filesBelow(dir), formsOf(MARKER));
      expect([...new Set(found.map(({ file }) => file.slice(dir.length + 1)))].sort()).toEqual([
        'address',
        'base64',
        'hex',
        'json',
        'lower',
        'nested',
        'plain',
        'url',
        'wide',
      ]);
      expect(found.find(({ form }) => form === 'bytes')?.offset).toBe(before);
    }
  });

  it('has nothing to say where there is nothing', () => {
    expect(traces([join(dir, 'clean'), join(dir, 'gone')], formsOf(MARKER))).toEqual([]);
  });
});
