import type { Status } from "../../../src/fleet/model.ts";
import type { Gap } from "../../../src/fleet/recorded-time.ts";
import type { StoredSubjectChange } from "../../../src/store/changes.ts";
import type { Truth } from "../../sim/oracle/truth.ts";

/** How long one server was in each status, and not observed. Milliseconds; no zeros. */
export type ServerTimes = ReadonlyMap<string, ReadonlyMap<Status | "unobserved", number>>;

/** From its appearance forwards: what the changes and the gaps say of each server. */
export function rebuiltTimes(
  changes: readonly StoredSubjectChange[],
  gaps: readonly Gap[],
  endMs: number,
): ServerTimes {
  const times = createTimes();
  for (const [serverId, own] of Map.groupBy(changes, (change) => change.serverId ?? "")) {
    for (const [at, { atMs, to, observation }] of own.entries()) {
      if (to === "absent") continue;
      const untilMs = own[at + 1]?.atMs ?? endMs;
      const gapMs = gaps.reduce(
        (ms, gap) => ms + Math.max(0, Math.min(gap.toMs, untilMs) - Math.max(gap.fromMs, atMs)),
        0,
      );
      times.add(serverId, observation === "missing" ? "unobserved" : to, untilMs - atMs - gapMs);
      times.add(serverId, "unobserved", gapMs);
    }
  }
  return times.all;
}

/** The same from the truth. */
export function trueTimes({ stretches }: Truth): ServerTimes {
  const times = createTimes();
  for (const { fromMs, toMs, servers } of stretches) {
    for (const { server, status } of servers) {
      times.add(server.split(" ")[1] ?? "", status ?? "unobserved", toMs - fromMs);
    }
  }
  return times.all;
}

function createTimes() {
  const all = new Map<string, Map<Status | "unobserved", number>>();
  return {
    all,
    add(serverId: string, status: Status | "unobserved", ms: number): void {
      if (ms === 0) return;
      const own = all.get(serverId) ?? new Map<Status | "unobserved", number>();
      all.set(serverId, own.set(status, (own.get(status) ?? 0) + ms));
    },
  };
}
