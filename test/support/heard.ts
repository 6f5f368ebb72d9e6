import { listIncidents } from "../../src/api/operations/incidents.ts";
import type { Line } from "./capture-log.ts";
import type { WatchedWorld } from "./watched-world.ts";

/** What the receiver was notified of, in order: "server-error firing". */
export function notifications({ alerts }: WatchedWorld): readonly string[] {
  return alerts.map(({ type, data }) => `${data.rule} ${type.replace("incident.", "")}`);
}

export function events({ log }: WatchedWorld): readonly (string | undefined)[] {
  return log.map(({ event }) => event);
}

/** The lines of the log that have this event. */
export function logged({ log }: WatchedWorld, wanted: string): readonly Line[] {
  return log.filter(({ event }) => event === wanted);
}

/** Those that the API lists, the latest first. */
export async function incidents(world: WatchedWorld) {
  return (await world.daemon().api(listIncidents, {})).incidents;
}

/** Who acknowledged each of them; null: nobody. */
export async function acknowledgedBy(world: WatchedWorld) {
  return (await incidents(world)).map(({ acknowledged_by: by }) => by);
}

/** The sum of a family's series in an exposition, of those that hold the label if one is given. */
export function sumOf(text: string, family: string, label = ""): number {
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${family}{`) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
