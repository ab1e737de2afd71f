import type { NewEvent } from '#event-store/event-store.js';
import { t } from '#kernel/schema.js';
import { codec } from '#kernel/vocabulary.js';

/** The least that can be said. */
export const words = codec({ Said: { version: 1, schema: t.Object({ word: t.String() }) } });

/** The nth event, which says a word. */
export function wordSaid(n: number, word: string): NewEvent {
  return {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    type: 'Said',
    version: 1,
    workspace: 'w',
    actor: { principal: 'ann', kind: 'person', credential: null },
    causation: 'c',
    correlation: 'c',
    payload: JSON.stringify({ word }),
  };
}
