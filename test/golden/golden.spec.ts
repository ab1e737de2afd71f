import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { canonicalJson, type Json } from '#kernel/json.js';
import { sourceCodec } from '#sources/domain/source.events.js';
import { subjectCodec } from '#sources/domain/subject.events.js';
import { requestStateCodec } from '#access/domain/request-state.events.js';
import { organisationCodec } from '#access/domain/organisation.events.js';
import { workspaceCodec } from '#access/domain/workspace.events.js';
import { answerCodec } from '#decisions/domain/answer.events.js';
import { ingestionCodec } from '#decisions/domain/ingestion.events.js';
import { ontologyCodec } from '#decisions/domain/ontology.events.js';
import { datasetCodec } from '#evaluation/domain/dataset.events.js';
import { evalrunCodec } from '#evaluation/domain/evalrun.events.js';
import { checkpointCodec } from '#ledger/domain/checkpoint.events.js';
import { topicCodec } from '#decisions/domain/topic.events.js';

/** Every event version that was ever released, as it was stored. Lines are added, never changed: ledgers hold such bytes for ever. */
const lines = readFileSync(new URL('./events.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as { type: string; version: number; payload: string });

/** Of so many vocabularies the union of all events is more than the compiler takes. */
interface AnyCodec {
  readonly versions: ReadonlyMap<string, number>;
  encode(event: never): unknown;
  decode(type: string, version: number, data: Json): object | undefined;
}

const codecs: readonly AnyCodec[] = [organisationCodec, workspaceCodec, requestStateCodec, sourceCodec, subjectCodec, ingestionCodec, ontologyCodec, topicCodec, answerCodec, datasetCodec, evalrunCodec, checkpointCodec];

describe('golden events', () => {
  it('P5: every released version of every event type has a line', () => {
    const held = new Set(lines.map((l) => `${l.type} v${l.version}`));
    const missing = codecs
      .flatMap((c) => [...c.versions])
      .flatMap(([type, present]) =>
        Array.from({ length: present }, (_, i) => `${type} v${i + 1}`).filter((k) => !held.has(k)),
      );
    expect(missing).toEqual([]);
  });

  it.each(lines)('P5: $type v$version is read as the present version, which its schema accepts', ({ type, version, payload }) => {
    const codec = codecs.find((c) => c.versions.has(type));
    const event = codec?.decode(type, version, JSON.parse(payload) as Json);
    expect(event).toBeDefined();
    if (event) expect(() => codec?.encode(event as never)).not.toThrow();
  });

  it.each(lines)('B45: $type v$version was stored in canonical form', ({ payload }) => {
    expect(canonicalJson(JSON.parse(payload))).toBe(payload);
  });
});
