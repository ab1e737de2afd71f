import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { extractDecisions } from '#decisions/domain/extract.js';
import { readDocumentSet } from '#decisions/domain/document-set.js';
import { ADR_FOLDERS, adrDocuments, CORPORA, hasCorpora } from '../support/corpora.js';
import { OIDA, oidaCorpus } from '../support/oida.js';

interface Pep {
  pep: number;
  title: string;
  status: string;
}

(hasCorpora ? describe : describe.skip)('QO-9: the extractor on real texts', () => {
  it('takes one candidate from each decision record handed in as a plain text, with words of it', () => {
    let [records, taken, more, dated] = [0, 0, 0, 0];
    for (const folder of ADR_FOLDERS)
      for (const file of adrDocuments(folder)) {
        const { decisions } = readDocumentSet([file]);
        const [document] = decisions;
        if (!document || ['unstated', 'unrecognised'].includes(document.status)) continue;
        records += 1;
        const found = extractDecisions(file.text, file.path).records;
        for (const { start, end } of found) expect(file.text.slice(start, end).trim()).not.toBe('');
        if (found[0]?.reasons.includes(`status_${document.status}`)) taken += 1;
        if (found.length > 1) more += 1;
        if (found[0]?.decided_at === document.decidedOn && document.decidedOn !== undefined)
          dated += 1;
      }
    process.stdout.write(
      `QO-9: ${taken} of ${records} decision records taken, ${more} with more than one, ${dated} dated\n`,
    );
    expect(records).toBeGreaterThan(100);
    expect(taken).toBe(records);
    expect(more).toBeLessThanOrEqual(records * 0.05);
  });

  it('reads the status of a PEP from its head, as the index has it', () => {
    const peps = allPeps();
    let read = 0;
    for (const { pep, title, status } of peps) {
      const text = `PEP: ${pep}\nTitle: ${title}\nStatus: ${status}\nType: Process\n\n\nAbstract\n========\n\nText.\n`;
      const [record, ...more] = extractDecisions(text, `pep-${pep}`).records;
      expect(more).toEqual([]);
      if (record?.statement === title.replace(/`/g, '').replace(/\s+/g, ' ').trim()) read += 1;
    }
    process.stdout.write(`QO-9: ${read} of ${peps.length} PEP heads read\n`);
    expect(read).toBeGreaterThanOrEqual(peps.length - 5);
  });

  it('takes from minutes, mails and chats only what they mark', () => {
    let [documents, marking, taken] = [0, 0, 0];
    for (const name of OIDA)
      for (const { id, text } of oidaCorpus(name).documents.values()) {
        documents += 1;
        const { records, findings } = extractDecisions(text, id);
        if (records.length === 0) expect(findings).toMatchObject([{ kind: 'no_marked_decision' }]);
        else marking += 1;
        taken += records.length;
        for (const { start, end } of records)
          expect(text.slice(start, end)).toMatch(/decision|decided|resol|status/i);
      }
    process.stdout.write(
      `QO-9: ${taken} decisions from ${marking} of ${documents} OIDA documents\n`,
    );
    expect(documents).toBeGreaterThan(150);
    expect(taken).toBeGreaterThan(0);
  });
});

function allPeps(): Pep[] {
  const file = join(CORPORA, 'standards', 'peps.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { peps: Pep[] }).peps;
}
