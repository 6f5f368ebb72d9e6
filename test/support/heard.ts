import type { WatchedWorld } from "./watched-world.ts";

/** What the receiver was notified of, in order: "server-error firing". */
export function notifications({ alerts }: WatchedWorld): readonly string[] {
  return alerts.map(({ type, data }) => `${data.rule} ${type.replace("incident.", "")}`);
}

export function events({ log }: WatchedWorld): readonly (string | undefined)[] {
  return log.map(({ event }) => event);
}

/** The sum of a family's series in an exposition, of those that hold the label if one is given. */
export function sumOf(text: string, family: string, label = ""): number {
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${family}{`) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
