import type { Recorded, Sighting } from "../history.ts";
import { readAnswer } from "./read-answer.ts";

/** The listings that came whole, in the order in which they did. */
export function sightingsOf({ requests }: Recorded): readonly Sighting[] {
  const sightings: Sighting[] = [];
  for (const [request, { target, life, path, answer, exchange }] of requests.entries()) {
    const { end } = exchange;
    if (path !== "/local-sandbox" || answer === null || end?.how !== "whole") continue;
    const read = readAnswer(answer);
    if (read.kind === "failed") continue;
    const { moment, atMs, utcMs } = end;
    const { complete, shown } = read;
    sightings.push({ target, life, moment, atMs, utcMs, complete, shown, request });
  }
  return sightings.toSorted((one, other) => one.moment - other.moment);
}
