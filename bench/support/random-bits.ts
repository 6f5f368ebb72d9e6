/** Four hexadecimal digits for every 16-bit number. */
const hexDigits = Array.from({ length: 65_536 }, (_, value) => value.toString(16).padStart(4, "0"));

/** A 32-bit number that only depends on its arguments. */
export function mixBits(seed: number, stream: number, index: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(stream + 1, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 15) ^ index, 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  mixed = Math.imul(mixed ^ (mixed >>> 15) ^ Math.imul(index, 0x27d4eb2f), 0x165667b1);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

export function mixUuid(seed: number, stream: number, index: number): string {
  const a = mixBits(seed, stream, index);
  const b = mixBits(seed, stream + 101, index);
  const c = mixBits(seed, stream + 202, index);
  // The index stands in the last group, so that no two are alike.
  const d = (mixBits(seed, stream + 303, 0) ^ index) >>> 0;
  const version = 0x4000 | (b & 0x0fff);
  const variant = 0x8000 | (c & 0x3fff);
  return `${hex(a >>> 16)}${hex(a & 0xffff)}-${hex(b >>> 16)}-${hex(version)}-${hex(variant)}-${hex(c >>> 16)}${hex(d >>> 16)}${hex(d & 0xffff)}`;
}

function hex(value: number): string {
  return hexDigits[value] ?? "0000";
}
