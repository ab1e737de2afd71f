import type { Sealing, TextName } from '#event-store/sealing.js';
import { canonicalJson, sha256 } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import type { Reads } from '#projections/read-database.js';
import { sourceView } from '#sources/index.js';
import type { Text } from './handlers-submission.js';
import type { Manifest, ManifestSource } from './domain/ingestion-plan.js';

/**
 * The sources with the subject under which each was captured before: one text of one document has one subject for ever. Refuses another
 * one, and what belongs to a subject that was erased.
 */
export function withSubjects(
  reads: Reads,
  sealing: Sealing,
  workspace: string,
  sources: readonly ManifestSource[],
  isFolder: boolean,
): ManifestSource[] {
  return sources.map((source, i) => {
    const path = isFolder ? `documents[${i}]` : 'source';
    const before = sourceView(reads, workspace, source.source_id);
    if (before && source.subject !== undefined && before.subject !== source.subject)
      throw new Refusal('conflict', 'other_subject', `${path} is captured with another subject`, {
        path: `${path}.subject`,
        issues: [
          {
            path: `${path}.subject`,
            problem: `this text of this document belongs to ${before.subject ?? 'no subject'}`,
          },
        ],
        fix: 'leave the subject out, or give that one',
      });
    const subject = before?.subject ?? source.subject;
    if (sealing.erased(sealing.keysOf(workspace, subject ?? source.source_id)))
      throw erased(path, subject);
    return { ...source, ...(subject === undefined ? {} : { subject }) };
  });
}

function erased(path: string, subject: string | undefined): Refusal {
  const what = subject === undefined ? 'this text was erased' : `subject ${subject} was erased`;
  return new Refusal('conflict', 'subject_erased', `${path}: ${what}`, {
    path,
    issues: [{ path, problem: `${what}, and is not taken again` }],
    fix: 'leave it out; what is to be kept of it needs another text, or another subject',
  });
}

/** What is to be stored of an ingestion before its event names it. */
export interface Submission {
  manifest: Manifest;
  blobs: { hash: string; bytes: Uint8Array }[];
  names: { manifest_sha256: string; manifest_blob?: string; keys?: string[] };
}

/** Seals each text with the key of its subject and the manifest with all of them. Resolves once the keys are durable. */
export async function sealedSubmission(
  sealing: Sealing,
  workspace: string,
  manifest: Manifest,
  texts: readonly Text[],
): Promise<Submission> {
  const keysOf = manifest.sources.map((s) => sealing.keysOf(workspace, s.subject ?? s.source_id));
  const keys = [...new Set(keysOf.flat())];
  await sealing.ensure(keys);
  const sealed = texts.map(({ bytes, hash }, i) =>
    sealing.text(workspace, keysOf[i] ?? [], { bytes, sha256: hash }),
  );
  const sources = manifest.sources.map((source, i): ManifestSource => {
    const blob = sealed[i]?.name.blob;
    return { ...source, ...(blob === undefined ? {} : { blob, keys: keysOf[i] ?? [] }) };
  });
  const kept = { ...manifest, sources };
  const { stored, name } = sealedJson(sealing, workspace, keys, kept);
  return {
    manifest: kept,
    blobs: [...sealed.map((s) => s.stored), stored],
    names: {
      manifest_sha256: name.sha256,
      ...(name.blob === undefined ? {} : { manifest_blob: name.blob, keys }),
    },
  };
}

/** A value as a blob, sealed where this ledger seals. */
export function sealedJson(
  sealing: Sealing,
  workspace: string,
  keys: readonly string[],
  value: unknown,
): { stored: { hash: string; bytes: Uint8Array }; name: TextName } {
  const bytes = Buffer.from(canonicalJson(value));
  return sealing.text(workspace, keys, { bytes, sha256: sha256(bytes) });
}
