/**
 * How fast the world's own time passes: statuses move and sandboxes are replaced by it, while the
 * rhythm of day and week stays that of the calendar. Never backwards.
 */
export interface Tempo {
  /** The world's own time at a moment. UTC milliseconds in, milliseconds out. */
  worldMs(utcMs: number): number;
  /** The first whole millisecond at which the world's own time has come so far. */
  utcMs(worldMs: number): number;
}

/** @param pace how many times faster than usual; more than 0 */
export function steady(pace: number): Tempo {
  return {
    worldMs: (utcMs) => utcMs * pace,
    utcMs: (worldMs) => Math.ceil(worldMs / pace),
  };
}

/** Goes on from one pace to another at a moment, without a break: nothing jumps. */
export function changing(before: number, atMs: number, after: number): Tempo {
  const first = steady(before);
  const turnMs = first.worldMs(atMs);
  return {
    worldMs: (utcMs) => (utcMs <= atMs ? first.worldMs(utcMs) : turnMs + (utcMs - atMs) * after),
    utcMs: (worldMs) =>
      worldMs <= turnMs ? first.utcMs(worldMs) : atMs + Math.ceil((worldMs - turnMs) / after),
  };
}
