import type { Reads } from '#projections/read-database.js';
import { Dictionary, roomFor } from '../domain/ranking-arrays.js';
import { TextIndex, MOST_DOCUMENTS, type Scores } from '../domain/ranking.js';
import { eachWord, termsOfWord } from '../domain/ranking-terms.js';
import { Best } from '../domain/ranking-best.js';
import type { ClaimView } from '../domain/claim-view.js';
import { claimById } from './claim-queries.js';
import { feedAt, type FeedRow } from './search.js';
import { openedName } from './topics.js';

/** A topic or a source by its id, best first. */
export interface Near {
  topics: { topic: string; score: number }[];
  sources: NearSource[];
}

export interface NearSource {
  source_id: string;
  score: number;
  /** The claim, nearest to the question, that this source is evidence of. */
  claim?: { topic: string; decision_id: string };
}

const STATES = ['names', 'candidate', 'approved', 'ended', 'dropped'] as const;
type DocumentState = (typeof STATES)[number];

/** What a match counts by the state of what matched. */
const FACTOR: Readonly<Record<DocumentState, number>> = {
  names: 1,
  candidate: 0.9,
  approved: 1,
  ended: 0.8,
  dropped: 0,
};
/** Of a topic that has nothing in force any more. */
const TOPIC_ENDED = 0.5;
/** Claims, of those in force and of those ended, whose evidence is looked at. */
const CLAIMS_LOOKED_AT = 20;
/** A source gains up to this many times its score where it is evidence of what is in force and asked about … */
const EVIDENCE_LIFT = 2.5;
/** … scores at least this share of the best one … */
const EVIDENCE_FLOOR = 0.7;
/** … and keeps this share where what is asked about has ended. */
const ENDED_SHARE = 0.4;
/** … and at most this share of what stands for the successor. */
const BELOW = 0.99;
/** A claim that covers this share of a question is what is asked about. */
const ABOUT_IT = 0.5;

/** Everything of one workspace that can be searched. */
export class WorkspaceIndex {
  private readonly decisions = new TextIndex();
  private readonly texts = new TextIndex();
  private readonly topics = new Dictionary();
  private readonly claims = new Dictionary();
  private readonly sources = new Dictionary();
  // By document of `decisions`: where the log has it, what it belongs to, how it stands.
  private position = new Float64Array(256);
  private topicOf = new Uint32Array(256);
  private state = new Uint8Array(256);
  // By claim: its document. By topic: claims in force and claims that ended.
  private documentOf = new Uint32Array(256);
  private inForce = new Uint32Array(256);
  private ended = new Uint32Array(256);
  // By document of `texts`, which is also the number of the source.
  private sourcePosition = new Float64Array(256);
  private topicScore = new Float32Array(256);

  get bytes(): number {
    const own = [this.position, this.topicOf, this.state, this.documentOf, this.inForce];
    const parts = [this.decisions, this.texts, this.topics, this.claims, this.sources];
    return [...own, this.ended, this.sourcePosition, this.topicScore]
      .map((a) => a.byteLength)
      .concat(parts.map((p) => p.bytes))
      .reduce((a, b) => a + b);
  }

  get documents(): { decisions: number; sources: number } {
    return { decisions: this.decisions.size, sources: this.texts.size };
  }

  get full(): boolean {
    return this.decisions.size >= MOST_DOCUMENTS || this.texts.size >= MOST_DOCUMENTS;
  }

  addNames(row: FeedRow, names: string): void {
    this.add(row, names, '', 'names');
  }

  addClaim(row: FeedRow, names: string): void {
    const document = this.add(row, names, row.text, 'candidate');
    const number = this.claims.add(row.ref);
    this.documentOf = roomFor(this.documentOf, number + 1);
    this.documentOf[number] = document;
  }

  addSource(row: FeedRow, text: string): void {
    if (this.sources.find(row.ref) !== undefined) return;
    const number = this.sources.add(row.ref);
    this.texts.add(row.text, text);
    this.sourcePosition = roomFor(this.sourcePosition, number + 1);
    this.sourcePosition[number] = row.position;
  }

  changeState(claim: string, state: 'approved' | 'ended' | 'dropped'): void {
    const number = this.claims.find(claim);
    if (number === undefined) return;
    const document = this.documentOf[number] ?? 0;
    const topic = this.topicOf[document] ?? 0;
    const before = STATES[this.state[document] ?? 0];
    if (before === state) return;
    if (before === 'approved') this.inForce[topic] = (this.inForce[topic] ?? 1) - 1;
    if (state === 'approved') this.inForce[topic] = (this.inForce[topic] ?? 0) + 1;
    if (state === 'ended') this.ended[topic] = (this.ended[topic] ?? 0) + 1;
    this.state[document] = STATES.indexOf(state);
  }

  /** What is nearest to a question. `reads` must be no older than what was added. */
  near(
    reads: Reads,
    workspace: string,
    question: string,
    most: { topics: number; sources: number },
  ): Near {
    const scored = this.decisions.score(question);
    const topics = this.nearTopics(reads, scored, most.topics);
    const claims = this.nearClaims(reads, workspace, scored);
    return { topics, sources: this.nearSources(reads, question, claims, most.sources) };
  }

  /** What each term of a question tells in the captured texts. */
  weigh(question: string): Map<string, number> {
    return new Map(this.texts.weigh(question).map(({ term, weight }) => [term, weight]));
  }

  private add(row: FeedRow, title: string, text: string, state: DocumentState): number {
    const document = this.decisions.add(title, text);
    const topic = this.topics.add(row.topic);
    this.position = roomFor(this.position, document + 1);
    this.topicOf = roomFor(this.topicOf, document + 1);
    this.state = roomFor(this.state, document + 1);
    this.inForce = roomFor(this.inForce, topic + 1);
    this.ended = roomFor(this.ended, topic + 1);
    this.position[document] = row.position;
    this.topicOf[document] = topic;
    this.state[document] = STATES.indexOf(state);
    return document;
  }

  private factor(document: number, topic: number): number {
    const over = this.inForce[topic] === 0 && (this.ended[topic] ?? 0) > 0;
    return FACTOR[STATES[this.state[document] ?? 0] ?? 'names'] * (over ? TOPIC_ENDED : 1);
  }

  private nearTopics(reads: Reads, scored: Scores, most: number): Near['topics'] {
    this.topicScore = roomFor(this.topicScore, this.topics.size);
    const best = new Best(most);
    const { documents, count, scores } = scored;
    for (let i = 0; i < count; i++) {
      const document = documents[i] ?? 0;
      const topic = this.topicOf[document] ?? 0;
      const score = (scores[document] ?? 0) * this.factor(document, topic);
      if (score > (this.topicScore[topic] ?? 0)) {
        this.topicScore[topic] = score;
        best.offer(topic, score, document);
      }
    }
    for (let i = 0; i < count; i++) this.topicScore[this.topicOf[documents[i] ?? 0] ?? 0] = 0;
    return best.list().flatMap(({ by, score }) => {
      const row = feedAt(reads, this.position[by] ?? 0);
      return row ? [{ topic: row.topic, score }] : [];
    });
  }

  /** Claims that answer to a question, those in force and those that ended, each with how well. */
  private nearClaims(reads: Reads, workspace: string, scored: Scores): Matching[] {
    const standing = new Best(CLAIMS_LOOKED_AT);
    const over = new Best(CLAIMS_LOOKED_AT);
    const { documents, count, scores } = scored;
    for (let i = 0; i < count; i++) {
      const document = documents[i] ?? 0;
      const state = STATES[this.state[document] ?? 0];
      if (state === 'approved') standing.offer(document, scores[document] ?? 0, document);
      if (state === 'ended') over.offer(document, scores[document] ?? 0, document);
    }
    const matching = (best: Best, holds: boolean): Matching[] =>
      best.list().flatMap(({ by }) => {
        const row = feedAt(reads, this.position[by] ?? 0);
        const claim = row && claimById(reads, workspace, row.topic, row.ref);
        return row && claim
          ? [{ claim, holds, names: openedName(reads, workspace, row.topic) ?? '' }]
          : [];
      });
    return [...matching(standing, true), ...matching(over, false)];
  }

  private nearSources(
    reads: Reads,
    question: string,
    claims: readonly Matching[],
    most: number,
  ): NearSource[] {
    const cited = this.citations(question, claims);
    const { documents, count, scores } = this.texts.score(question);
    let highest = 0;
    for (let i = 0; i < count; i++) highest = Math.max(highest, scores[documents[i] ?? 0] ?? 0);
    const best = new Best(most);
    for (let i = 0; i < count; i++) {
      const source = documents[i] ?? 0;
      if (!cited.has(source)) best.offer(source, scores[source] ?? 0, source);
    }
    for (const [source, score] of citedScores(cited, scores, highest))
      if (score > 0) best.offer(source, score, source);
    return best.list().flatMap(({ key, score }) => {
      const row = feedAt(reads, this.sourcePosition[key] ?? 0);
      const claim = cited.get(key)?.claim;
      if (!row) return [];
      return [
        {
          source_id: row.ref,
          score,
          ...(claim ? { claim: { topic: claim.topic, decision_id: claim.decision_id } } : {}),
        },
      ];
    });
  }

  /** By source: the claim it is evidence of that covers most of the question; of equals the one in force, which comes first. */
  private citations(question: string, claims: readonly Matching[]): Map<number, Citation> {
    const weights = this.texts.weigh(question);
    const all = weights.reduce((n, w) => n + w.weight, 0);
    const cited = new Map<number, Citation>();
    for (const { claim, holds, names } of claims) {
      const said = new Set<string>();
      for (const text of [names, claim.statement, ...claim.evidence.map((e) => e.excerpt)])
        eachWord(text, (word) => {
          for (const term of termsOfWord(word)) said.add(term);
        });
      const covered = weights.reduce((n, w) => n + (said.has(w.term) ? w.weight : 0), 0);
      const share = all === 0 ? 0 : covered / all;
      const evidence = [...claim.evidence, ...claim.confirmations.flatMap((c) => c.evidence)];
      for (const { source_id } of evidence) {
        const source = this.sources.find(source_id);
        if (source === undefined) continue;
        const held = cited.get(source);
        if (!held || share > held.share) cited.set(source, { claim, holds, share });
      }
    }
    return cited;
  }
}

interface Matching {
  claim: ClaimView;
  holds: boolean;
  names: string;
}

interface Citation {
  claim: ClaimView;
  holds: boolean;
  /** Of the question that the claim covers, 0 to 1. */
  share: number;
}

/** Evidence of what is in force gains; evidence of what has ended loses, and stands below that of what is in force in the same topic. */
function citedScores(
  cited: ReadonlyMap<number, Citation>,
  scores: Float32Array,
  highest: number,
): Map<number, number> {
  const found = new Map<number, number>();
  const inForce = new Map<string, number>();
  for (const [source, { claim, holds, share }] of cited) {
    if (!holds) continue;
    const floor = highest * EVIDENCE_FLOOR * share;
    const score = Math.max(scores[source] ?? 0, floor) * (1 + EVIDENCE_LIFT * share);
    found.set(source, score);
    inForce.set(claim.topic, Math.max(score, inForce.get(claim.topic) ?? 0));
  }
  for (const [source, { claim, holds, share }] of cited) {
    if (holds) continue;
    const kept = 1 - (1 - ENDED_SHARE) * Math.min(1, share / ABOUT_IT);
    const above = inForce.get(claim.topic) ?? Infinity;
    found.set(source, Math.min((scores[source] ?? 0) * kept, above * BELOW));
  }
  return found;
}
