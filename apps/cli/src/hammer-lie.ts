import { EXIT, Failure } from './failure.js';

export interface Evidence {
  what: string;
  asked: string;
  expected: string;
  found: string;
}

/** A reply that no honest server gives, with what was asked and what should have come. */
export function lie({ what, asked, expected, found }: Evidence): Failure {
  return new Failure(EXIT.refused, {
    error: 'lie_found',
    message: what,
    issues: [
      { path: 'asked', problem: asked },
      { path: 'expected', problem: expected },
      { path: 'found', problem: found },
    ],
    fix: 'stop the server, keep its data folder as it is, and run precedent verify on a copy',
  });
}
