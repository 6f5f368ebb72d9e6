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

/** An age in the largest unit of which there are two: "90 min", "3 h". Of a time to come it is "0 s". */
export function ageText(ageMs: number): string {
  const [unitMs, unit] = units.find(([ms]) => ageMs >= 2 * ms) ?? [secondMs, "s"];
  return `${Math.floor(Math.max(0, ageMs) / unitMs)} ${unit}`;
}
