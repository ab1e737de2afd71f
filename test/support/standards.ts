import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORPORA } from './corpora.js';

/** One dated change of one header of one document, as its repository's history has it. */
export interface HeaderEvent {
  document: string;
  header: string;
  /** ISO, with the offset it was committed in. */
  at: string;
  /** What the header says from then on. */
  to: string;
}

const read = (file: string): unknown =>
  JSON.parse(readFileSync(join(CORPORA, 'standards', file), 'utf8'));

/** In order of time; the changes of one document and header are never reordered among equals. */
function inOrder(events: HeaderEvent[]): HeaderEvent[] {
  return events
    .map((event, index) => ({ event, index, ms: Date.parse(event.at) }))
    .sort((a, b) => a.ms - b.ms || a.index - b.index)
    .map(({ event }) => event);
}

export function pepEvents(): HeaderEvent[] {
  const { events } = read('pep_status_events.json') as {
    events: { pep: number; at: string; field: string; to: string }[];
  };
  return inOrder(
    events.map((e) => ({ document: `PEP ${e.pep}`, header: e.field, at: e.at, to: e.to })),
  );
}

export function xepEvents(): HeaderEvent[] {
  const { events } = read('xep_status_events.json') as {
    events: [number, string, string, string | null, string][];
  };
  return inOrder(
    events.map(([id, at, , , to]) => ({ document: `XEP ${id}`, header: 'Status', at, to })),
  );
}

/** The headers of one document as they stand today; references as they are written there. */
export interface Standard {
  id: string;
  title: string;
  status: string;
  replaces: string[];
  supersededBy: string[];
}

export function peps(): Standard[] {
  const { peps: all } = read('peps.json') as {
    peps: {
      pep: number;
      title: string;
      status: string;
      replaces: number[];
      superseded_by: number[];
    }[];
  };
  return all.map((p) => ({
    id: `PEP ${p.pep}`,
    title: p.title,
    status: p.status,
    replaces: p.replaces.map(String),
    supersededBy: p.superseded_by.map(String),
  }));
}

export function xeps(): Standard[] {
  const { xeps: all } = read('xeps.json') as {
    xeps: {
      xep: number;
      title: string;
      status: string;
      supersedes: string[];
      supersededby: string[];
    }[];
  };
  return all.map((x) => ({
    id: `XEP ${x.xep}`,
    title: x.title,
    status: x.status,
    replaces: x.supersedes,
    supersededBy: x.supersededby,
  }));
}

/** One RFC that makes another obsolete. */
export interface RfcLink {
  newer: number;
  older: number;
}

interface IndexedRfc {
  rfc: number;
  /** Month and year; a few of the oldest have none. */
  date?: string;
  /** Absent for numbers that were never issued. */
  obsoletes?: number[];
}

/** The links of an older snapshot of the RFC index, and its day. */
export function rfcSnapshot(year: 2020 | 2022): { day: string; links: RfcLink[] } {
  const index = read(`rfc_index_${year}.json`) as {
    created: string;
    rfcs?: IndexedRfc[];
    links?: [number, number][];
  };
  const [month, day, of] = index.created.split('/');
  const links = index.links?.map(([older, newer]) => ({ newer, older }));
  return { day: `${of}-${month}-${day}`, links: links ?? linksIn(index.rfcs ?? []) };
}

/** The links of the index of 2024, and when each RFC was published: the first day of its month. */
export function rfcIndex(): { links: RfcLink[]; published: Map<number, string> } {
  const { rfcs } = read('rfc_index_2024.json') as { rfcs: IndexedRfc[] };
  return {
    links: linksIn(rfcs),
    published: new Map(
      rfcs.flatMap(({ rfc, date }) => (date ? [[rfc, firstDay(date)] as const] : [])),
    ),
  };
}

function linksIn(rfcs: IndexedRfc[]): RfcLink[] {
  return rfcs.flatMap(({ rfc, obsoletes = [] }) =>
    obsoletes.map((older) => ({ newer: rfc, older })),
  );
}

function firstDay(month: string): string {
  return new Date(Date.parse(`1 ${month} UTC`)).toISOString().slice(0, 10);
}
