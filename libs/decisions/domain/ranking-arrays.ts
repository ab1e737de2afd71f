type Numbers = Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;

/** Beyond this a typed array grows by a quarter instead of doubling. */
const LARGE = 1 << 24;

/** The array itself where it has room for `length` numbers, else a longer copy of it. */
export function roomFor<T extends Numbers>(array: T, length: number): T {
  if (length <= array.length) return array;
  const grown = array.length < LARGE ? array.length * 2 : Math.ceil(array.length * 1.25);
  const make = array.constructor as new (length: number) => T;
  const longer = new make(Math.max(length, grown));
  longer.set(array);
  return longer;
}

/**
 * Numbers strings from 0 in the order in which they come, and keeps 64 bits of hash of each instead of the string: about 20 bytes
 * an entry. Two of a million strings that share a hash are not to be expected; they would count as one.
 */
export class Dictionary {
  size = 0;
  private low = new Uint32Array(256);
  private high = new Uint32Array(256);
  /** Entry + 1; 0 is free. A power of two long, at most half full. */
  private slots = new Uint32Array(512);

  /** The number of a string, given now if it has none. */
  add(key: string): number {
    const slot = this.slotOf(key);
    const held = this.slots[slot] ?? 0;
    if (held > 0) return held - 1;
    const entry = this.size++;
    this.low = roomFor(this.low, this.size);
    this.high = roomFor(this.high, this.size);
    this.low[entry] = hashLow;
    this.high[entry] = hashHigh;
    this.slots[slot] = this.size;
    if (this.size * 2 > this.slots.length) this.spread();
    return entry;
  }

  find(key: string): number | undefined {
    const held = this.slots[this.slotOf(key)] ?? 0;
    return held > 0 ? held - 1 : undefined;
  }

  get bytes(): number {
    return this.low.byteLength + this.high.byteLength + this.slots.byteLength;
  }

  private slotOf(key: string): number {
    hash(key);
    const mask = this.slots.length - 1;
    let slot = hashLow & mask;
    for (let held = this.slots[slot] ?? 0; held > 0; held = this.slots[slot] ?? 0) {
      if (this.low[held - 1] === hashLow && this.high[held - 1] === hashHigh) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private spread(): void {
    const slots = new Uint32Array(this.slots.length * 2);
    const mask = slots.length - 1;
    for (let entry = 0; entry < this.size; entry++) {
      let slot = (this.low[entry] ?? 0) & mask;
      while ((slots[slot] ?? 0) > 0) slot = (slot + 1) & mask;
      slots[slot] = entry + 1;
    }
    this.slots = slots;
  }
}

let hashLow = 0;
let hashHigh = 0;

/** cyrb53's two halves (public domain), left in `hashLow` and `hashHigh`: a pair of results without an allocation. */
function hash(key: string): void {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  hashLow = a >>> 0;
  hashHigh = b >>> 0;
}
