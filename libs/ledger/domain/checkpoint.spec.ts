import { describe, it } from '@jest/globals';
import { specification } from '#kernel/testing.js';
import { checkpointDecider } from './checkpoint.js';
import type { CheckpointEvent } from './checkpoint.events.js';

const log = specification(checkpointDecider);
const [origin, one, two] = ['precedent/abc', 'precedent/abc+1+k', 'precedent/abc+2+k'];
const opened: CheckpointEvent = { type: 'LogOpened', data: { origin, vkey: one } };
const at = (size: number): CheckpointEvent => ({
  type: 'CheckpointSigned',
  data: { size, root: `r${size}`, note: `n${size}` },
});
const rotated: CheckpointEvent = { type: 'LogKeyRotated', data: { vkey: two, note: 'by one' } };
const sign = (after: number, size: number, vkey = one) =>
  ({ type: 'Sign', vkey, after, size, root: `r${size}`, note: `n${size}` }) as const;

describe('what one log has signed', () => {
  it('is opened once, with one name and one key', () => {
    log().when({ type: 'Open', origin, vkey: one }).then(opened);
    log(opened).when({ type: 'Open', origin, vkey: one }).then();
    log(opened).when({ type: 'Open', origin, vkey: two }).thenRefused('foreign_log_key');
    log(opened).when({ type: 'Open', origin: 'x/abc', vkey: one }).thenRefused('foreign_log_name');
    log().when(sign(0, 1)).thenRefused('checkpoint_moved');
  });

  it('P4: only grows, and only from the tree that was compared', () => {
    log(opened).when(sign(0, 3)).then(at(3));
    log(opened, at(3)).when(sign(3, 7)).then(at(7));
    log(opened, at(3)).when(sign(3, 3)).thenRefused('checkpoint_moved');
    log(opened, at(3)).when(sign(3, 2)).thenRefused('checkpoint_moved');
    log(opened, at(3)).when(sign(0, 7)).thenRefused('checkpoint_moved');
    log(opened, at(3), at(5)).when(sign(3, 7)).thenRefused('checkpoint_moved');
  });

  it('P4: is signed with the key that the log names and no other', () => {
    log(opened, at(3))
      .when(sign(3, 7, two))
      .thenRefused('foreign_log_key');
    log(opened, at(3), rotated).when(sign(3, 7)).thenRefused('foreign_log_key');
    log(opened, at(3), rotated)
      .when(sign(3, 7, two))
      .then(at(7));
  });

  it('a key follows the one that signs, once; a former one never comes back', () => {
    const rotate = { type: 'Rotate', from: one, vkey: two, note: 'by one' } as const;
    log(opened, at(3)).when(rotate).then(rotated);
    log(opened, rotated).when(rotate).then();
    log(opened, rotated)
      .when({ type: 'Rotate', from: one, vkey: 'precedent/abc+3+k', note: 'by one' })
      .thenRefused('checkpoint_moved');
    log(opened, rotated)
      .when({ type: 'Rotate', from: two, vkey: one, note: 'by two' })
      .thenRefused('former_log_key');
  });

  it('a lost key is replaced by name, with the reason; size and root stay', () => {
    const replace = { type: 'Replace', from: one, vkey: two, reason: 'it burnt' } as const;
    const replaced: CheckpointEvent = {
      type: 'LogOpened',
      data: { origin, vkey: two, replaces: one, reason: 'it burnt' },
    };
    log(opened, at(3)).when(replace).then(replaced);
    log(opened, at(3), replaced).when(replace).then();
    log(opened, at(3), replaced)
      .when(sign(0, 7, two))
      .thenRefused('checkpoint_moved');
    log(opened, at(3), replaced)
      .when(sign(3, 7, two))
      .then(at(7));
    log(opened, rotated).when(replace).then();
    log(opened, rotated)
      .when({ ...replace, vkey: 'precedent/abc+3+k' })
      .thenRefused('checkpoint_moved');
  });
});
