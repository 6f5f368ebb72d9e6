import { targetName } from "../../fleet/model.ts";
import type { ReportSources } from "../sources.ts";
import type { ReportedTarget } from "../targets.ts";
import type { InError } from "./errant-servers.ts";
import { longestOf, longDwellOf } from "./long-dwells.ts";
import type { LongDwell } from "./long-dwells.ts";

interface PresentOptions {
  /** Names of targets. Of others it is not known how long a server stays occupied. */
  readonly configured: ReadonlySet<string>;
  readonly usualMaximumOf: (serverName: string) => number | null;
  readonly mostDwells: number;
}

/** Reads the present servers of each target once, as they may have to be read from the store. */
export async function readPresent(
  sources: Pick<ReportSources, "present">,
  targets: readonly ReportedTarget[],
  { configured, usualMaximumOf, mostDwells }: PresentOptions,
) {
  const inError: InError[] = [];
  const lastPolls: (number | null)[] = [];
  let longest: readonly LongDwell[] = [];
  for (const { target } of targets) {
    const { lastPollAtMs, servers } = await sources.present(target);
    lastPolls.push(lastPollAtMs);
    const atMs = configured.has(targetName(target)) ? lastPollAtMs : null;
    const stays: LongDwell[] = [];
    for (const server of servers) {
      if (server.status === "error") inError.push({ target, server });
      const stay = atMs === null ? null : longDwellOf(target, server, atMs, usualMaximumOf);
      if (stay) stays.push(stay);
    }
    longest = longestOf([...longest, ...stays], mostDwells);
  }
  return { inError, lastPolls, longest };
}
