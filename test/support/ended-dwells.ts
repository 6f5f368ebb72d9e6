import { dwellsOf } from "../../src/fleet/dwell.ts";
import type { EndedDwells } from "../../src/fleet/accounting.ts";
import type { Status } from "../../src/fleet/status.ts";

/** A dwell time that ended with a poll. */
export interface EndedDwell {
  readonly serverName: string;
  readonly status: Status;
  readonly ms: number;
}

/** Those in `occupied`, as the accounting takes them. */
export function endedDwells(dwells: readonly EndedDwell[]): EndedDwells {
  const occupied = dwells.filter(({ status }) => status === "occupied");
  return new Map(
    [...Map.groupBy(occupied, ({ serverName }) => serverName)].map(([name, ofName]) => [
      name,
      dwellsOf(ofName.map(({ ms }) => ms)),
    ]),
  );
}
