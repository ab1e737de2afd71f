import type { Reads } from '#projections/read-database.js';
import { sourceRecorded, sourceView } from '#sources/index.js';
import type { Answer, CandidateExcerpt, CandidateTopic } from '../contract.js';
import { validity, type ClaimView, type Known } from '../domain/claim-view.js';
import type { DeclaredNear } from '../domain/declared-near.js';
import { claimById, topicAsOf } from './claim-queries.js';
import type { Found, NearPassage } from './search-engine.js';
import { homeOf, topicById, type TopicName } from './topics.js';

export type Suggestions = Pick<Answer, 'candidate_topics' | 'candidate_excerpts'>;

/** Candidate topics and excerpts that an answer without a decision brings along. */
export const SUGGESTED = { topics: 8, sources: 10 } as const;

/** As if nothing had been searched for. */
export const NOTHING_FOUND: Found = { topics: [], sources: [], complete: true };

interface Moment {
  asOfMs: number;
  known: Known;
}

/** QO-25: what was found for words that name no topic, best first, as far as it was known. Suggestions only, never a decision (QO-4). */
export function suggestions(
  reads: Reads,
  workspace: string,
  found: Found,
  moment: Moment,
  declared: DeclaredNear,
): Suggestions {
  return {
    candidate_topics: inOrder(found, declared, (topic) =>
      homeOf(reads, workspace, topic, moment.known),
    )
      .flatMap((topic) => candidateTopic(reads, workspace, topic, moment))
      .slice(0, SUGGESTED.topics),
    candidate_excerpts: found.sources
      .flatMap((source) => candidateExcerpt(reads, workspace, source, moment))
      .slice(0, SUGGESTED.sources),
  };
}

/** Of the places at the end this many are for declared topics of which half a name is asked for, if there are some. */
const FOR_HALF = 2;

function inOrder(found: Found, declared: DeclaredNear, home: (topic: string) => string): string[] {
  // Before anything was searched for, whoever asks has not decided yet that it names nothing.
  if (found === NOTHING_FOUND) return [];
  const sure = [...declared.whole, ...found.topics.map(({ topic }) => topic)].map(home);
  const half = declared.half.map(home).filter((topic) => !sure.includes(topic));
  const room = SUGGESTED.topics - Math.min(FOR_HALF, half.length);
  const first = [...new Set(sure)];
  return [...new Set([...first.slice(0, room), ...half.slice(0, FOR_HALF), ...first.slice(room)])];
}

/** Topics that share the name asked for, as suggestions to choose from. */
export function namesakes(
  reads: Reads,
  workspace: string,
  named: readonly TopicName[],
  moment: Moment,
): Suggestions {
  const candidate_topics = named.flatMap(({ topic }) =>
    candidateTopic(reads, workspace, topic, moment),
  );
  return { candidate_topics, candidate_excerpts: [] };
}

function candidateTopic(
  reads: Reads,
  workspace: string,
  id: string,
  moment: Moment,
): CandidateTopic[] {
  const topic = topicById(reads, workspace, id, moment.known);
  if (!topic) return [];
  const { claims } = topicAsOf(reads, workspace, id, moment.asOfMs, moment.known);
  return [{ ...topic, state: topicState(claims, moment) }];
}

function topicState(claims: readonly ClaimView[], moment: Moment): CandidateTopic['state'] {
  const known = claims.filter((c) => isKnown(c.proposed, moment.known));
  const states = known.map((claim) => claimState(claim, moment));
  for (const state of ['approved', 'candidate'] as const) if (states.includes(state)) return state;
  const [latest] = known
    .map((claim) => ({ claim, endMs: validity(claim, moment.known)?.endMs ?? -Infinity }))
    .sort((a, b) => b.endMs - a.endMs);
  return latest ? claimState(latest.claim, moment) : 'none';
}

function isKnown(fact: { position: number; ms: number }, known: Known): boolean {
  return fact.position <= known.position && fact.ms <= known.ms;
}

type ClaimState = Exclude<CandidateTopic['state'], 'none'>;

function claimState(claim: ClaimView, { asOfMs, known }: Moment): ClaimState {
  const interval = validity(claim, known);
  const end = claim.ends.filter((e) => isKnown(e, known)).at(-1);
  if (!interval) return end ? 'rejected' : 'candidate';
  if (asOfMs < interval.endMs) return 'approved';
  return end?.kind === 'revoked' ? 'revoked' : 'superseded';
}

function candidateExcerpt(
  reads: Reads,
  workspace: string,
  found: NearPassage,
  moment: Moment,
): CandidateExcerpt[] {
  const { source_id, excerpt, start, end } = found;
  const source = sourceView(reads, workspace, source_id);
  const recorded = sourceRecorded(reads, workspace, source_id);
  if (!source || !recorded || !isKnown(recorded, moment.known)) return [];
  const place = { source_id, title: source.title };
  const rested = restingOn(reads, workspace, found, moment);
  if (rested)
    return [{ ...rested.decision, ...place, ...(rested.quote ?? { excerpt, start, end }) }];
  return excerpt === '' ? [] : [{ ...place, excerpt, start, end }];
}

/** The decision near the question that rests on a source, as far as it was known, and its own quote. */
function restingOn(
  reads: Reads,
  workspace: string,
  { source_id, claim: cited }: NearPassage,
  moment: Moment,
): { decision: Partial<CandidateExcerpt>; quote: Quote | undefined } | undefined {
  const claim = cited && claimById(reads, workspace, cited.topic, cited.decision_id);
  if (!claim || !isKnown(claim.proposed, moment.known)) return undefined;
  const { decision_id, statement, confirmations } = claim;
  const topic = homeOf(reads, workspace, claim.topic, moment.known);
  const quote = [...claim.evidence, ...confirmations.flatMap((c) => c.evidence)].find(
    (e) => e.source_id === source_id,
  );
  return {
    decision: { topic, decision_id, statement, state: claimState(claim, moment) },
    quote: quote && { excerpt: quote.excerpt, start: quote.start, end: quote.end },
  };
}

type Quote = Pick<CandidateExcerpt, 'excerpt' | 'start' | 'end'>;
