import { judgePoll } from "../../src/core/judge.ts";
import type { JudgeOptions, Verdict } from "../../src/core/judge.ts";
import { noInterventions } from "../../src/core/interventions.ts";
import type { ListedSandbox, Status, Target } from "../../src/core/model.ts";
import { openIntake } from "../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../src/core/snapshot/packed-snapshot.ts";
import { nothingKnown } from "../../src/core/target-state.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { mixBits, mixUuid } from "./random-bits.ts";

export const names = 20;
export const serversOfName = 5;
const servers = names * serversOfName;
export const pollMs = 30_000;

/** A target whose servers change by themselves, judged poll by poll. */
export interface BusyTarget {
  readonly id: number;
  /**
   * What the poll at about a moment shows.
   *
   * @param changed how many servers changed since the one before
   */
  poll(atMs: number, changed: number): Verdict;
}

const judge: JudgeOptions = {
  rules: [],
  goneAfter: 2,
  interventions: noInterventions,
  tells: () => false,
  newIncidentId: () => "none",
};

export function createBusyTarget(id: number, target: Target, startMs: number): BusyTarget {
  const watched = watchTarget({ id, target, ...nothingKnown }, emptySnapshot, {
    staleAfter: 3,
    restoredForMs: 90_000,
    nowUtcMs: startMs,
  });
  const statuses: Status[] = Array.from({ length: servers }, () => "idle");
  const sandboxes = Array.from({ length: serversOfName }, (_, box) =>
    listSandbox(id, box, statuses),
  );
  let draws = 0;
  const draw = (limit: number): number => mixBits(id, 1, (draws += 1)) % limit;
  return {
    id,
    poll(atMs, changed) {
      for (let change = 0; change < changed; change += 1) {
        const server = draw(servers);
        statuses[server] = nextStatus(statuses[server] ?? "idle", draw(100));
        const box = server % serversOfName;
        sandboxes[box] = listSandbox(id, box, statuses);
      }
      // Answers take a while, each another one.
      const utcMs = atMs + draw(400);
      const intake = openIntake(watched.state.snapshot, { goneAfter: judge.goneAfter });
      for (const sandbox of sandboxes) intake.listed(sandbox, null);
      const at = { utcMs, monotonicMs: utcMs - startMs };
      const verdict = judgePoll(
        watched.state,
        { kind: "listed", intake, complete: true },
        at,
        judge,
      );
      watched.accept(verdict);
      return verdict;
    },
  };
}

/** One server of each name. */
function listSandbox(target: number, box: number, statuses: readonly Status[]): ListedSandbox {
  return {
    sandboxId: mixUuid(target, 2, box),
    status: "idle",
    benchmark: null,
    servers: Array.from({ length: names }, (_, name) => {
      const index = name * serversOfName + box;
      return {
        serverId: mixUuid(target, 3, index),
        serverName: `server-name-${name}`,
        status: statuses[index] ?? "idle",
        benchmark: null,
        tags: [],
      };
    }),
  };
}

function nextStatus(status: Status, percent: number): Status {
  if (status !== "idle") return "idle";
  return percent < 98 ? "occupied" : "error";
}
