export { QUOTE_MAX, verifyQuote, type VerifiedQuote } from './domain/quote.js';
export { sourceId, type SourceDetails } from './domain/source.js';
export { sourceCount, sources, sourceView, type SourceView } from './projections/sources.js';
