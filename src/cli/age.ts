const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const units = [
  [dayMs, "d"],
  [hourMs, "h"],
  [minuteMs, "min"],
  [secondMs, "s"],
] as const;

/** How long ago a time was, in the largest unit of which there are two: "90 min", "3 h". */
export function ageText(isoTime: string, nowMs: number): string {
  const ageMs = Math.max(0, nowMs - Date.parse(isoTime));
  const [unitMs, unit] = units.find(([ms]) => ageMs >= 2 * ms) ?? [secondMs, "s"];
  return `${Math.floor(ageMs / unitMs)} ${unit}`;
}

/** Shows times as ages, or as they are where exact ones are wanted. */
export function timeColumn(isExact: boolean | undefined, nowMs: number) {
  return (isoTime: string | null): string =>
    isoTime === null || isExact === true ? (isoTime ?? "") : ageText(isoTime, nowMs);
}
