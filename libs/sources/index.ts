export { QUOTE_MAX, verifyQuote } from './domain/quote.js';
export { sourceCodec } from './domain/source.events.js';
export { sourceId } from './domain/source.js';
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
export { erasedOf } from './projections/subject-queries.js';
export { subjects } from './projections/subjects.js';
