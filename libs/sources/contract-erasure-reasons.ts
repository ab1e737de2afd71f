/** Why something is erased. A closed list, because free text could name the person whose data it ends. */
export const REASONS = [
  'requested',
  'consent_withdrawn',
  'objection',
  'no_longer_needed',
  'unlawful',
  'legal_obligation',
  'mistake',
] as const;
