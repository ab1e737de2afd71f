export { QUOTE_MAX, verifyQuote, type VerifiedQuote } from './domain/quote.js';
export { sourceCodec } from './domain/source.events.js';
export { subjectCodec } from './domain/subject.events.js';
export { sourceId, type SourceDetails } from './domain/source.js';
export {
  sourceCount,
  sourceRecorded,
  sources,
  sourceText,
  sourceView,
  type SourceView,
} from './projections/sources.js';
export { subjectChange, subjectStreamsOf, type SubjectChange } from './projections/changes.js';
export { followErasures } from './reactions/erasure.js';
export { erasedOf, type Erased } from './projections/subject-queries.js';
export { subjects } from './projections/subjects.js';
