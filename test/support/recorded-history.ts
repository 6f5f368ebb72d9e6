import { cleanUp } from "./share.ts";
import { judgePoll, type Verdict } from "../../src/alerts/judge.ts";
import { nothingKnown } from "../../src/alerts/target-state.ts";
import type { RolledUp } from "../../src/fleet/buckets.ts";
import type { Status, Target } from "../../src/fleet/model.ts";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { storedSources, type ReportSources } from "../../src/reports/report-sources.ts";
import type { ServerIncidentTimes } from "../../src/store/incident-history.ts";
import { createStore } from "../../src/store/store.ts";
import { addTarget } from "./add-target.ts";
import { judgeBy, server as listedServer, toOutcome } from "./fleet.ts";
import { openFresh } from "./fresh-store.ts";

export interface ListedServer {
  readonly id: string;
  readonly name?: string;
  readonly sandbox?: string;
  readonly status: Status;
}

/** What a poll gave: all servers, those of a partial listing, or nothing. */
export type Seen =
  | { readonly kind: "all" | "some"; readonly servers: readonly ListedServer[] }
  | { readonly kind: "failed" };

export interface RecordedTarget {
  readonly target: Target;
  /** Times only grow. */
  poll(atMs: number, seen: Seen): void;
  /** The time until the next poll is not observed. */
  restart(): void;
  /** Deletes the changes, or the hours or days that ended, before. */
  prune(what: "changes" | RolledUp, beforeMs: number): void;
  isConfigured: boolean;
}

/** What reports read, of targets whose polls are judged and stored. */
export interface RecordedHistory extends ReportSources {
  add(target: Target): RecordedTarget;
  /** Deletes what is stored of a key that is not configured any more. False: it stops after the first rows. */
  forget(key: string, isComplete?: boolean): void;
  readonly spans: ServerIncidentTimes[];
}

/** @param isByQuarter whether quarters of an hour are rolled up, too */
export function recordHistory({ isByQuarter = false } = {}): RecordedHistory {
  const { kysely, close } = openFresh();
  cleanUp(close);
  const store = createStore(kysely, close);
  const recorded: RecordedTarget[] = [];
  const spans: ServerIncidentTimes[] = [];
  let steps: (() => Promise<void>)[] = [];
  /** The polls of one target that followed one another. They are stored at once. */
  let row: { readonly id: number; readonly verdicts: Verdict[] } | null = null;
  const addStep = (step: () => Promise<void>): void => {
    row = null;
    steps.push(step);
  };

  /** What was recorded is stored before anything is read. */
  const read = async (): Promise<ReportSources> => {
    const due = steps;
    steps = [];
    row = null;
    for (const step of due) await step();
    const configured = recorded.filter(({ isConfigured }) => isConfigured);
    return storedSources(
      store,
      configured.map(({ target }) => target),
    );
  };

  const recordTarget = (target: Target): RecordedTarget => {
    const watched = watchTarget(
      { id: recorded.length + 1, target, ...nothingKnown },
      emptySnapshot,
      {
        staleAfter: 3,
        restoredForMs: 0,
        nowUtcMs: 0,
      },
    );
    addStep(async () => void (await addTarget(store, target)));
    return {
      target,
      isConfigured: true,
      poll(atMs, seen) {
        const at = { utcMs: atMs, monotonicMs: atMs };
        const verdict = judgePoll(watched.state, outcomeOf(seen), at, judgeBy([]));
        watched.accept(verdict);
        if (row?.id === watched.id) return void row.verdicts.push(verdict);
        const verdicts = [verdict];
        addStep(() => store.importPolls(watched.id, verdicts));
        row = { id: watched.id, verdicts };
      },
      restart: () => watched.losePoll(),
      prune(what, beforeMs) {
        addStep(async () => {
          while (await store.rollUp({ isByQuarter }));
          const step = (): Promise<boolean> =>
            what === "changes"
              ? store.prune.changes(beforeMs)
              : store.prune.rollups(what, beforeMs, Infinity);
          while (await step());
        });
      },
    };
  };

  return {
    spans,
    labelsOf: () => ({}),
    add(target) {
      const added = recordTarget(target);
      recorded.push(added);
      return added;
    },
    forget(key, isComplete = true) {
      for (const each of recorded) if (each.target.key === key) each.isConfigured = false;
      addStep(async () => void (await store.forgetting.forget(key, () => isComplete)));
    },
    occupancy: { open: async (filter) => (await read()).occupancy.open(filter) },
    changes: {
      async *ofSubjects(query) {
        yield* (await read()).changes.ofSubjects(query);
      },
    },
    async *incidents() {
      yield* spans;
    },
    targets: async () => (await read()).targets(),
    present: async (...of) => (await read()).present(...of),
  };
}

function outcomeOf(seen: Seen) {
  if (seen.kind === "failed") return toOutcome("failed");
  const bySandbox = Map.groupBy(seen.servers, ({ sandbox = "" }) => sandbox);
  const sandboxes = Array.from(bySandbox, ([id, servers]) => ({
    id,
    status: "idle" as const,
    benchmark: null,
    createdAt: null,
    servers: servers.map(({ id: serverId, name = null, status }) =>
      listedServer(serverId, { name, status }),
    ),
  }));
  return toOutcome({ sandboxes, complete: seen.kind === "all" });
}
