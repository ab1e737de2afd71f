import { describe, expect, it } from '@jest/globals';
import { specification } from '#kernel/testing.js';
import {
  NOTHING,
  recorded,
  propose,
  story,
  approve,
  contentAfter,
  topic,
} from '../../../test/support/ontology-story.js';
import { ontologyDecider, type OntologyCommand } from './ontology.js';
import { readDescription } from './ontology-description.js';

const given = specification(ontologyDecider);
describe('merge and rollback', () => {
  const before = story([
    topic('Terms', { aliases: ['net days'] }),
    topic('Payment'),
    topic('Late fees', { parent: 'Payment' }),
    { op: 'set_authority', topic: 'Payment', role: 'owner', persons: [] },
  ]);
  const merged = [
    ...before,
    ...story(
      [
        topic('Terms', { aliases: ['net days'] }),
        topic('Payment'),
        topic('Late fees', { parent: 'Payment' }),
        { op: 'set_authority', topic: 'Payment', role: 'owner', persons: [] },
      ],
      [{ op: 'merge_topics', topic: 'Payment', into: 'Terms' }],
    ).slice(before.length),
  ];

  it('moves names, children and rules, and says which topics are to be joined', () => {
    const content = contentAfter(merged);
    expect(content.merged).toEqual([{ topic: 'payment', into: 'terms' }]);
    expect(content.topics.map((t) => [t.id, t.aliases, t.parent])).toEqual([
      ['late-fees', [], 'terms'],
      ['terms', ['net days', 'Payment'], undefined],
    ]);
    expect(content.authority).toEqual([
      { topic: 'terms', role: 'owner', persons: [], precedence: 0 },
    ]);
    expect(merged.at(-1)).toMatchObject({
      data: { merges: [{ topic: 'payment', into: 'terms' }] },
    });
  });

  it('a merged topic is gone for good: its names are the target’s, and it is not declared again', () => {
    given(...merged)
      .when(propose([{ op: 'merge_topics', topic: 'terms', into: 'payment' }]))
      .thenRefused('invalid_arguments');
    const known = recorded({ topic: 'payment', name: 'Payment', as: ['Invoices'] });
    for (const change of [
      [topic('Pay', { topic: 'payment' })],
      [{ op: 'set_parent', topic: 'Invoices' }],
    ])
      given(...merged)
        .when(propose(change, { recorded: known }))
        .thenRefused('topic_merged');
  });

  it('a merge into a topic below it makes no ring', () => {
    const events = story(
      [topic('A'), topic('B', { parent: 'A' }), topic('C', { parent: 'B' })],
      [{ op: 'merge_topics', topic: 'A', into: 'C' }],
    );
    expect(contentAfter(events).topics.map((t) => [t.id, t.parent])).toEqual([
      ['b', 'c'],
      ['c', undefined],
    ]);
  });

  it('O-36: a rollback is a proposal; its approval restores the version, and merged topics stay merged', () => {
    const state = merged.reduce(
      (s, e) => ontologyDecider.evolve(s, e, 0),
      ontologyDecider.initial(),
    );
    const later = [
      ...merged,
      ...ontologyDecider.decide(
        propose([topic('X'), { op: 'add_alias', topic: 'late fees', alias: 'dunning' }]),
        state,
      ),
    ];
    const proposal = later.at(-1);
    if (proposal?.type !== 'OntologyChangeProposed') throw new Error('no proposal');
    const version3 = [
      ...later,
      ...ontologyDecider.decide(
        approve(proposal),
        later.reduce((s, e) => ontologyDecider.evolve(s, e, 0), ontologyDecider.initial()),
      ),
    ];
    given(...version3)
      .when({ type: 'PrepareRollback', toVersion: 1, proposedBy: 'ann' })
      .thenMatches(([event]) => {
        if (event?.type !== 'OntologyRollbackPrepared') throw new Error('no rollback');
        expect(event.data).toMatchObject({ base_version: 3, to_version: 1 });
        expect(event.data.content).toEqual(contentAfter(merged));
      });
    given(...version3)
      .when({ type: 'PrepareRollback', toVersion: 3, proposedBy: 'ann' })
      .thenRefused('nothing_to_change');
    given(...version3)
      .when({ type: 'PrepareRollback', toVersion: 4, proposedBy: 'ann' })
      .thenRefused('invalid_arguments');
  });
});

describe('start_ontology', () => {
  const description = [
    '# How we decide',
    'We decide on paper. Topics are below.',
    '## Topics',
    '- Payment terms (aliases: net days, terms; by effective date): when invoices are due',
    '  - Late fees',
    '- Hosting',
    '## Scopes',
    '- region (closed):',
    '  - eu',
    '    - de',
    '- team: payments, search',
    '## Source types',
    '- contract: signed by both sides',
    '- minutes',
    '## Who decides',
    '- Payment terms, contract: owner, ann',
    '- *: admins',
  ].join('\n');
  const start = (text = description): OntologyCommand => ({
    type: 'Start',
    description: text,
    wanted: readDescription(text),
    place: 'draft.',
    recorded: NOTHING,
    proposedBy: 'ann',
  });

  it('O-34, QO-16: reads headings and lists, with no model, and only proposes', () => {
    given()
      .when(start())
      .thenMatches(([event, ...more]) => {
        expect(more).toEqual([]);
        if (event?.type !== 'OntologyProposed') throw new Error('no proposal');
        const approved = ontologyDecider.decide(
          approve(event),
          ontologyDecider.evolve(ontologyDecider.initial(), event, 0),
        );
        expect(contentAfter([event, ...approved])).toEqual({
          topics: [
            { id: 'hosting', name: 'Hosting', aliases: [], succession: 'stated' },
            {
              id: 'late-fees',
              name: 'Late fees',
              aliases: [],
              succession: 'stated',
              parent: 'payment-terms',
            },
            {
              id: 'payment-terms',
              name: 'Payment terms',
              aliases: ['net days', 'terms'],
              succession: 'by_effective_date',
              description: 'when invoices are due',
            },
          ],
          dimensions: [
            {
              name: 'region',
              open: false,
              values: [{ value: 'eu' }, { value: 'de', parent: 'eu' }],
            },
            { name: 'team', open: true, values: [{ value: 'payments' }, { value: 'search' }] },
          ],
          source_types: [
            { name: 'contract', description: 'signed by both sides' },
            { name: 'minutes' },
          ],
          authority: [
            { topic: '*', role: 'admin', persons: [], precedence: 0 },
            {
              topic: 'payment-terms',
              source_type: 'contract',
              role: 'owner',
              persons: ['ann'],
              precedence: 0,
            },
          ],
          merged: [],
        });
      });
  });

  it('QO-16: with an active ontology it adds what is new and removes nothing; the same again is nothing', () => {
    const [proposed] = ontologyDecider.decide(start(), ontologyDecider.initial());
    if (proposed?.type !== 'OntologyProposed') throw new Error('no proposal');
    const approved = ontologyDecider.decide(
      approve(proposed),
      ontologyDecider.evolve(ontologyDecider.initial(), proposed, 0),
    );
    const active = [proposed, ...approved];
    given(...active)
      .when(start())
      .thenRefused('nothing_to_change');
    given(...active)
      .when(start('# Topics\n- Hosting (also: cloud)\n- Backups\n'))
      .thenMatches(([event]) => {
        expect(event?.data).toMatchObject({
          base_version: 1,
          change: [
            { op: 'add_alias', topic: 'hosting', alias: 'cloud' },
            { op: 'add_topic', topic: 'backups', name: 'Backups' },
          ],
        });
      });
  });

  it('prose without lists is refused with the form that is read', () => {
    let fix: unknown;
    try {
      readDescription('We want to decide about payments and hosting.');
    } catch (refusal) {
      fix = (refusal as { fix: string }).fix;
    }
    expect(fix).toContain('heading "Topics"');
  });
});
