export { QUOTE_MAX, verifyQuote, type VerifiedQuote } from './domain/quote.js';
export { sourceCodec } from './domain/source.events.js';
export { sourceId, type SourceDetails } from './domain/source.js';
export {
  sourceCount,
  sourceRecorded,
  sources,
  sourceView,
  type SourceView,
} from './projections/sources.js';
