import { Refusal } from '#kernel/refusal.js';

/** The same words for what is not there and for what is somebody else's: they never hold the id. */
export function unknown(what: string, path: string): Refusal {
  return new Refusal('not_found', `unknown_${what}`, `no such ${what}`, {
    path,
    issues: [{ path, problem: `is no ${what} that you can see` }],
    fix: `list them and take an id from there`,
  });
}

export function keyReused(): Refusal {
  return new Refusal(
    'key_reused',
    'request_id_conflict',
    'the request_id was used for another request',
    {
      path: 'request_id',
      issues: [{ path: 'request_id', problem: 'was used with other arguments' }],
      fix: 'take a new request_id, or send what was sent with this one',
    },
  );
}
