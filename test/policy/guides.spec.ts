import { expect, it } from '@jest/globals';
import { decisionTools } from '#decisions/module.js';
import { evaluationTools } from '#evaluation/module.js';
import { guides } from '../../apps/server/src/guides.js';

const guide = (name: string): string => guides().find((g) => g.name === name)?.text ?? '';
const descriptionOf = (name: string): string =>
  [...decisionTools, ...evaluationTools].find((tool) => tool.name === name)?.description ?? '';

it('O-53: guide and tool say what a passing run shows, and what it does not', () => {
  for (const text of [guide('evaluation'), descriptionOf('run_eval')]) {
    expect(text).toMatch(
      /A passing run says that the resolver returned what (?:a person|was) expected/,
    );
    expect(text).toMatch(/respects? the answer/);
  }
  expect(guide('evaluation')).toContain('It is not a training pipeline.');
});

it('O-28, O-29: ingest says that it is a job, and get_ingestion_status that its result is kept', () => {
  expect(descriptionOf('ingest')).toContain('get_ingestion_status');
  expect(descriptionOf('get_ingestion_status')).toContain('persisted result of an ingestion job');
});
