/** When rounds of polls begin: at a cron expression's moments in a time zone, or once every `ms` milliseconds. */
export type Schedule =
  | { readonly kind: "cron"; readonly expression: string; readonly timeZone: string }
  | { readonly kind: "every"; readonly ms: number };

/** The position of a name's run in each interval: from 0 (included) to 1 (excluded), computed from the name. */
export function phaseOf(name: string): number {
  // FNV-1a, 32 bits, over the UTF-16 code units; mixed once more since names differ at their ends.
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
