import type { History, WallClock } from "../history.ts";

/** When the wall clock showed a time: nowhere or several times where it was stepped. In the world's milliseconds. */
export function timesOf(
  { wallClocks }: Pick<History, "wallClocks">,
  utcMs: number,
): readonly number[] {
  return wallClocks.flatMap(({ fromMs, offsetMs }: WallClock, at) => {
    const ms = utcMs - offsetMs;
    const untilMs = wallClocks[at + 1]?.fromMs ?? Infinity;
    return ms >= fromMs && ms <= untilMs ? [ms] : [];
  });
}
