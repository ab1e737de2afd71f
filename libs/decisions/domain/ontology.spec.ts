import { describe, expect, it } from '@jest/globals';
import { specification } from '#kernel/testing.js';
import {
  recorded,
  propose,
  story,
  contentAfter,
  topic,
} from '../../../test/support/ontology-story.js';
import { ONTOLOGY_OPERATIONS } from '../contract-ontology.js';
import { ontologyDecider, type OntologyCommand } from './ontology.js';
import { OPERATIONS } from './ontology-operations.js';
import { ONTOLOGY_LIMITS } from './ontology-step.js';
import type { StoredOperation } from './ontology.events.js';

const given = specification(ontologyDecider);

describe('a change of the ontology', () => {
  it('O-36: is proposed with its base and hash, and does nothing before its approval', () => {
    given()
      .when(propose([topic('Payment terms', { aliases: ['net days', 'Net  Days'] })]))
      .thenMatches(([event, ...more]) => {
        expect(more).toEqual([]);
        expect(event).toMatchObject({
          type: 'OntologyChangeProposed',
          data: {
            proposal_id: 'ontology-1',
            base_version: 0,
            change: [
              {
                op: 'add_topic',
                topic: 'payment-terms',
                name: 'Payment terms',
                aliases: ['net days'],
              },
            ],
            content_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
            proposed_by: 'ann',
          },
        });
        expect(contentAfter(event ? [event] : []).topics).toEqual([]);
      });
  });

  it('the same proposal while it is open changes nothing; after its rejection it is a new one', () => {
    const [first] = story([topic('A')]);
    if (!first) throw new Error('no event');
    given(first)
      .when(propose([topic('A')]))
      .then();
    given(first, {
      type: 'OntologyProposalRejected',
      data: { proposal_id: 'ontology-1', reason: 'no' },
    })
      .when(propose([topic('A')]))
      .thenMatches((events) => {
        expect(events[0]?.data).toMatchObject({ proposal_id: 'ontology-2' });
      });
  });

  it('that leads to what is active is refused', () => {
    given(...story([topic('A')]))
      .when(propose([{ op: 'set_succession', topic: 'a', succession: 'stated' }]))
      .thenRefused('nothing_to_change');
  });

  it.each<[string, StoredOperation[], string, string]>([
    [
      'an unknown topic',
      [{ op: 'set_parent', topic: 'A', parent: 'zebra' }],
      'unknown_topic',
      'change[0].parent',
    ],
    ['B33: a name that folds alike', [topic('a'), topic('Ａ')], 'duplicate_name', 'change[0].name'],
    ['B33: NFC and NFD', [topic('Café'), topic('cafe\u0301')], 'duplicate_name', 'change[1].name'],
    [
      'B33: an alias another topic has',
      [topic('B', { aliases: ['A'] })],
      'duplicate_name',
      'change[0].aliases[0]',
    ],
    [
      'a ring of topics',
      [topic('B', { parent: 'A' }), { op: 'set_parent', topic: 'A', parent: 'B' }],
      'hierarchy_cycle',
      'change[1].parent',
    ],
    [
      'itself as parent',
      [{ op: 'set_parent', topic: 'A', parent: 'a' }],
      'hierarchy_cycle',
      'change[0].parent',
    ],
    [
      'a merge into itself',
      [{ op: 'merge_topics', topic: 'A', into: 'a' }],
      'invalid_arguments',
      'change[0].into',
    ],
    [
      'a topic that others lie below',
      [topic('B', { parent: 'A' }), { op: 'remove_topic', topic: 'A' }],
      'in_use',
      'change[1].topic',
    ],
    [
      'an unknown dimension',
      [{ op: 'add_value', dimension: 'region', value: 'eu' }],
      'unknown_dimension',
      'change[0].dimension',
    ],
    [
      'an unknown parent value',
      [{ op: 'add_dimension', dimension: 'region', values: [{ value: 'de', parent: 'eu' }] }],
      'unknown_value',
      'change[0].values[0].parent',
    ],
    [
      'B33: a value that folds alike',
      [{ op: 'add_dimension', dimension: 'region', values: [{ value: 'EU' }, { value: 'eu' }] }],
      'duplicate_name',
      'change[0].values[1].value',
    ],
    [
      'a ring of values',
      [
        {
          op: 'add_dimension',
          dimension: 'region',
          values: [{ value: 'eu' }, { value: 'de', parent: 'eu' }],
        },
        { op: 'set_value_parent', dimension: 'region', value: 'EU', parent: 'de' },
      ],
      'hierarchy_cycle',
      'change[1].parent',
    ],
    [
      'an unknown source type',
      [{ op: 'set_authority', topic: '*', source_type: 'fax', role: 'admin' }],
      'unknown_source_type',
      'change[0].source_type',
    ],
    [
      'a rule that names nobody',
      [{ op: 'set_authority', topic: 'A' }],
      'invalid_arguments',
      'change[0].role',
    ],
    [
      'a field without meaning',
      [{ op: 'remove_topic', topic: 'A', alias: 'b' }],
      'invalid_arguments',
      'change[0].alias',
    ],
    [
      'a field that is missing',
      [{ op: 'rename_topic', topic: 'A' }],
      'invalid_arguments',
      'change[0].name',
    ],
  ])('is refused for %s, with its path', (_what, change, error, path) => {
    const refusal = given(...story([topic('A')]))
      .when(propose(change))
      .thenRefused(error);
    expect(refusal.path).toBe(path);
    expect(refusal.fix).toBeTruthy();
  });

  it('B33: names the existing one', () => {
    const refusal = given(...story([topic('Payment terms')]))
      .when(propose([topic('Terms', { aliases: ['PAYMENT-TERMS'] })]))
      .thenRefused('duplicate_name');
    expect(refusal.kind).toBe('conflict');
    expect(refusal.message).toContain('payment-terms');
  });

  it('keeps the former name of a renamed topic as an alias', () => {
    const events = story(
      [topic('Payment terms')],
      [{ op: 'rename_topic', topic: 'payment terms', name: 'Terms of payment' }],
      [{ op: 'rename_topic', topic: 'payment-terms', name: 'Payment Terms' }],
    );
    expect(contentAfter(events).topics).toEqual([
      {
        id: 'payment-terms',
        name: 'Payment Terms',
        aliases: ['Terms of payment'],
        succession: 'stated',
      },
    ]);
  });

  it('declares a topic that records opened before it changes it, and never takes its name for another', () => {
    const known = recorded({ topic: 'adr-5', name: 'Use Kafka', as: ['ADR 5'] });
    given()
      .when(
        propose([{ op: 'set_succession', topic: 'ADR 5', succession: 'by_effective_date' }], {
          recorded: known,
        }),
      )
      .thenMatches(([event]) => {
        expect(event?.data).toMatchObject({
          change: [
            { op: 'add_topic', topic: 'adr-5', name: 'Use Kafka' },
            { op: 'set_succession', topic: 'adr-5', succession: 'by_effective_date' },
          ],
        });
      });
    const refusal = given()
      .when(propose([topic('Broker', { aliases: ['use kafka'] })], { recorded: known }))
      .thenRefused('duplicate_name');
    expect(refusal.message).toContain('adr-5');
    given()
      .when(propose([topic('Broker', { topic: 'adr-5' })], { recorded: known }))
      .thenMatches(([event]) => {
        expect(event?.data).toMatchObject({ change: [{ topic: 'adr-5', name: 'Broker' }] });
      });
  });

  it('a name that two recorded topics share is ambiguous, an id is not', () => {
    const known = recorded(
      { topic: 'x', name: 'Retention' },
      { topic: 'retention', name: 'Retention' },
    );
    const change = (name: string): OntologyCommand =>
      propose([{ op: 'set_authority', topic: name, role: 'owner' }], { recorded: known });
    given().when(change('Retention')).thenRefused('invalid_arguments');
    given()
      .when(change('x'))
      .thenMatches(([e]) => {
        expect(e?.type).toBe('OntologyChangeProposed');
      });
  });

  it('limits are refused before anything is proposed', () => {
    const many = (n: number, make: (i: number) => StoredOperation) =>
      Array.from({ length: n }, (_, i) => make(i));
    const refused = [
      given().when(
        propose([
          topic('A', { aliases: many(51, (i) => topic(`x${i}`)).map((t) => t.name ?? '') }),
        ]),
      ),
      given().when(propose(many(17, (i) => ({ op: 'add_dimension', dimension: `d${i}` })))),
      given().when(propose(many(101, (i) => ({ op: 'add_source_type', source_type: `s${i}` })))),
      given().when(propose(many(190, (i) => topic(`t${i}`, { description: 'x'.repeat(2_200) })))),
      given().when(
        propose([
          topic('t0'),
          ...many(ONTOLOGY_LIMITS.depth, (i) => topic(`t${i + 1}`, { parent: `t${i}` })),
        ]),
      ),
    ];
    for (const attempt of refused) expect(attempt.thenRefused('too_large').kind).toBe('too_large');
  });
});

it('every operation that a caller may send is one that the domain knows, and the other way round', () => {
  expect([...ONTOLOGY_OPERATIONS].sort()).toEqual([...OPERATIONS].sort());
});
