import { FLAT, type IsWithin } from '../../libs/decisions/domain/hierarchy.js';
import { contentHash, decisionId } from '../../libs/decisions/domain/claim.js';
import { topicDecider, type TopicCommand } from '../../libs/decisions/domain/topic.js';
import type { Succession } from '../../libs/decisions/domain/topic-state.js';
import type { Proposed, TopicEvent } from '../../libs/decisions/domain/topic.events.js';
import { Refusal } from '../../libs/kernel/refusal.js';

export const TOPIC = 'terms';

/** A claim that says `value`, with itself as its evidence. */
export function claim(value: string | number, more: Partial<Proposed> = {}): Proposed {
  const said = {
    statement: `the value is ${value}`,
    value,
    scope: {},
    supersedes: [],
    relations: [],
    evidence: [{ source_id: 'src_1', excerpt: `${value}`, start: 0, end: 1, verbatim: true }],
    ...more,
  };
  return {
    decision_id: decisionId(TOPIC, said),
    content_hash: contentHash(said),
    reasons: ['awaiting_review'],
    proposed_by: 'ann',
    origin: 'job_1#0',
    ...said,
  };
}

type Approve = Omit<
  Extract<TopicCommand, { type: 'Approve' }>,
  'type' | 'decisionId' | 'nowMs' | 'toMs'
>;

/** One topic, decided about command by command. Time stands still at `now` unless it is set. */
export class Line {
  state = topicDecider.initial();
  now: number;

  constructor(
    now = '2026-06-01',
    private readonly rules: { isWithin?: IsWithin; succession?: Succession } = {},
  ) {
    this.now = Date.parse(now);
  }

  get timing() {
    const { isWithin = FLAT, succession = 'stated' } = this.rules;
    return { nowMs: this.now, toMs: (when: string) => Date.parse(when), isWithin, succession };
  }

  decide(command: TopicCommand): TopicEvent[] {
    const events = [...topicDecider.decide(command, this.state)];
    this.state = events.reduce((s, e) => topicDecider.evolve(s, e, this.now), this.state);
    return events;
  }

  /** The refusal of a command that must be refused; the state stays. */
  refused(command: TopicCommand): Refusal {
    try {
      topicDecider.decide(command, this.state);
    } catch (refusal) {
      if (refusal instanceof Refusal) return refusal;
      throw refusal;
    }
    throw new Error('it was not refused');
  }

  propose(one: Proposed): TopicEvent[] {
    return this.decide({ type: 'Propose', topic: TOPIC, name: TOPIC, aliases: [], claim: one });
  }

  /** Proposed, and approved by another command. */
  approve(one: Proposed, more: Partial<Approve> = {}): TopicEvent[] {
    this.propose(one);
    return this.decide(this.approval(one, more));
  }

  approval(one: Proposed, more: Partial<Approve> = {}): TopicCommand {
    const given = { reason: 'agreed', ...this.timing, ...more };
    return { type: 'Approve', decisionId: one.decision_id, ...given };
  }

  revoke(one: Proposed, from?: string): TopicEvent[] {
    const { decision_id: decisionId } = one;
    return this.decide({ type: 'Revoke', decisionId, reason: 'withdrawn', from, ...this.timing });
  }

  /** The id of the only open conflict. */
  get conflict(): string {
    const [only, ...more] = this.state.openConflicts.keys();
    if (only === undefined || more.length > 0) throw new Error(`${more.length + 1} open conflicts`);
    return only;
  }

  resolution(winner: Proposed, more: { fourEyes?: string } = {}): TopicCommand {
    const given = { conflictId: this.conflict, winner: winner.decision_id, reason: 'it was meant' };
    return { type: 'ResolveConflict', ...given, ...this.timing, ...more };
  }

  dismissal(): TopicCommand {
    return {
      type: 'DismissConflict',
      conflictId: this.conflict,
      reason: 'both are meant',
      ...this.timing,
    };
  }

  /** `id` → [state, from, to) as dates; candidates and the like have no span. */
  spans(): Record<string, string> {
    const day = (ms: number) => (ms > 8e15 ? '…' : new Date(ms).toISOString().slice(0, 10));
    return Object.fromEntries(
      [...this.state.decisions.values()].map((d) => [
        d.meaning.replace(/^value /, '').replaceAll('"', ''),
        'startMs' in d ? `${d.status} ${day(d.startMs)} ${day(d.endMs)}` : d.status,
      ]),
    );
  }
}
