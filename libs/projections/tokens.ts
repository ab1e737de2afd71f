/** Injection tokens for what has no class of its own. */
export const BLOBS = Symbol('BlobStore');
export const CLOCK = Symbol('Clock');
