import { describe, expect, it } from '@jest/globals';
import { body, read } from '../../../test/support/document-sets.js';
import { readDocumentSet } from './document-set.js';

const findingKinds = (text: string): string[] =>
  readDocumentSet([{ path: 'a.md', text }]).findings.map(({ kind }) => kind);

describe('status of a document', () => {
  it.each([
    ['Accepted', 'accepted'],
    ['accepted', 'accepted'],
    ['✅ Accepted', 'accepted'],
    ['> Accepted', 'accepted'],
    ['`Rejected`', 'rejected'],
    ['**rejected**', 'rejected'],
    ['Approved', 'accepted'],
    ['Accepted (documenting an existing thing)', 'accepted'],
    ['Accepted by the board on Monday', 'accepted'],
    ['This decision is accepted', 'accepted'],
    ['🤔 Proposed', 'proposed'],
    ['❌ Rejected (see [019](019.md))', 'rejected'],
    ['Deprecated', 'deprecated'],
    ['Draft', 'draft'],
    ['⌛️ Superseded by [2](2.md)', 'superseded'],
    ['Superceded by [2](2.md)', 'superseded'],
    ['Replaced by [2](2.md)', 'superseded'],
    ['superseded - the headline still applies, but see ADR 2', 'superseded'],
    ['Accepted\n\nSuperseded by [2](2.md)', 'superseded'],
    ['Accepted, superseded by [2](2.md)', 'superseded'],
    ['Proposed → Accepted', 'accepted'],
    ['Proposed ➡️ Accepted', 'accepted'],
    ['~~Accepted~~ Superseded by [2](2.md)', 'superseded'],
    ['~~Accepted~~ Rejected', 'rejected'],
    ['Accepted, but since superseded by [2](2.md)', 'superseded'],
    ['2017-02-12 proposed\n2017-02-13 accepted', 'accepted'],
    ['Partially superseded by [2](2.md)', 'accepted'],
    ['Amended by [2](2.md)', 'accepted'],
    ['Accepted. Supersedes D1', 'accepted'],
    ['Accepted\n\nProposed by the platform team', 'accepted'],
    ['Accepted\n\n**May 2021 Update** We move on from this decision, rejected or not', 'accepted'],
    ['Supersedes ADR 1', 'unstated'],
    ['Refines D2 (which superseded D1)', 'unstated'],
    ['🤔 Incomplete', 'unrecognised'],
    ['Not accepted', 'unrecognised'],
    ['Accepted or Rejected', 'unrecognised'],
    ['proposed, accepted, rejected, deprecated, superseded, ...', 'unrecognised'],
    ['[draft | proposed | accepted | superseded by [ADR-0005](0005-example.md)]', 'unrecognised'],
    ['Superseded by [2](2.md)\n\nAccepted', 'unrecognised'],
  ])('QO-9 QO-23 reads %j', (text, status) => {
    expect(read(`# A\n\n## Status\n\n${text}${body}`).status).toBe(status);
  });

  it.each([
    ['list item', '# A\n\n* Status: accepted\n* Date: 2020-01-02'],
    ['list item after an introduction', '# A\n\nAn introduction.\n\n- Status: accepted\n- Tags: a'],
    ['line', '# A\n\nStatus: accepted\nDate: 2020-01-02'],
    ['bold label', '# A\n\n**Status:** accepted'],
    ['table', '# A\n\n| Key | Value |\n|---|---|\n| Status | accepted |'],
    ['front matter', '---\nstatus: accepted\n---\n# A'],
    ['heading', '# A\n\n## Status: accepted'],
    ['section of a document without a title', '## Status\n\naccepted'],
  ])('QO-9 finds the status in a %s', (_place, text) => {
    const document = read(`${text}${body}`);
    expect([document.status, document.statusText]).toEqual(['accepted', 'accepted']);
  });

  it('QO-23 keeps the status as written', () => {
    const status = '⌛️ Superseded by [ADR 2. *x*](2.md).';
    expect(read(`# A\n\n## Status\n\n${status}${body}`).statusText).toBe(status);
    expect(read(`# A\n\n- Status: ${status} <!-- x -->${body}`).statusText).toBe(status);
    expect(read(`# A\n\n## Status\n\n> ${status}\n>\n> note${body}`).statusText).toBe(status);
    expect(read(`# A${body}`)).toMatchObject({ status: 'unstated', statusText: '' });
  });

  it('QO-23 reports statuses that cannot be read, and those that disagree', () => {
    expect(findingKinds(`# A\n\n## Status\n\nAccepted or Rejected${body}`)).toEqual([
      'ambiguous_status',
    ]);
    expect(findingKinds(`# A\n\n## Status\n\nIncomplete${body}`)).toEqual(['unrecognised_status']);
    expect(findingKinds(`---\nstatus: rejected\n---\n# A\n\n## Status\n\nAccepted${body}`)).toEqual(
      ['ambiguous_status'],
    );
    expect(findingKinds(`# A\n\n## Status\n\nRefines D2${body}`)).toEqual([]);
  });
});
