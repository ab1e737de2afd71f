export interface Setting<T> {
  /** What it is when nothing sets it, as it would be written. */
  default?: string;
  description: string;
  /** Never shown. */
  secret?: true;
  /** The value, or what is wrong with the text. */
  read: (text: string) => { value: T } | { problem: string };
}

export const text = (value: string) => ({ value });

/** Items between commas; blank ones are slips. */
export const list =
  (isItem: (item: string) => boolean, what: string) =>
  (given: string): { value: readonly string[] } | { problem: string } => {
    const value = given.split(',').map((item) => item.trim());
    return value.every(isItem) ? { value } : { problem: `must be ${what}, separated by commas` };
  };

export const number =
  (least: number, most: number) =>
  (given: string): { value: number } | { problem: string } =>
    /^\d{1,9}$/.test(given) && Number(given) >= least && Number(given) <= most
      ? { value: Number(given) }
      : { problem: `must be a number from ${least} to ${most}` };

/** An http or https address; without a slash at its end, a path is kept. */
export const address = (given: string): { value: string } | { problem: string } => {
  const url = URL.parse(given);
  return url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
    ? { value: given.replace(/\/+$/, '') }
    : { problem: 'must be an http or https address' };
};

/** The same without a path. */
export const origin = (given: string): { value: string } | { problem: string } =>
  URL.parse(given)?.pathname === '/'
    ? address(given)
    : { problem: 'must be an address without a path' };

/** To the letter: a slash at the end makes another issuer. */
export const issuer = (given: string): { value: string } | { problem: string } => {
  const read = address(given);
  return 'problem' in read ? read : { value: given };
};

export const isOrigin = (given: string): boolean =>
  URL.parse(given)?.origin === given.toLowerCase();
export const isHost = (given: string): boolean =>
  /^(?:[\w.-]+|\[[\da-f:]+\])(?::\d{1,5})?$/i.test(given);

export const oneOf =
  <T extends string>(...values: readonly T[]) =>
  (given: string) => {
    const value = values.find((v) => v === given);
    return value ? { value } : { problem: `must be one of ${values.join(', ')}` };
  };
