/** Injection tokens for what has no class of its own. */
export const BLOBS = Symbol('BlobStore');
/** The event store, for reading the log itself. */
export const LOG = Symbol('EventStore');
export const CLOCK = Symbol('Clock');
/** Path of the database of read models, for a thread that reads it by itself. */
export const READ_FILE = Symbol('ReadFile');
/** `Receipts` of `#transparency/receipts-port.js`: proofs that an event is in the signed log. */
export const RECEIPTS = Symbol('Receipts');
