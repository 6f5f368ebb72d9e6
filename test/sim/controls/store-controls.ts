import { noGapStep } from "../../../src/fleet/recorded-time.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { restoreSnapshot } from "../../../src/fleet/snapshot.ts";
import { ofMetrics, ofPart, ofStore, ofVerdicts, showsBeforeItCommits } from "./mutation.ts";
import type { NegativeControl } from "./mutation.ts";

/** Daemons that break a promise about what they store or show, or about starting and stopping. */
export const storeControls: Readonly<Record<string, NegativeControl>> = {
  "shows every target as up": {
    from: 50,
    caughtAs: /shown as up/,
    ...ofMetrics(/^(sandwatch_target_up\{.*\}) 0$/gm, "$1 1"),
  },
  "shows errors as idle": {
    from: 50,
    caughtAs: /servers error/,
    ...ofMetrics(/^(sandbox_servers\{.*status=")error(")/gm, "$1idle$2"),
  },
  "shows no incident": {
    from: 50,
    caughtAs: /firing incidents/,
    ...ofMetrics(/^(sandwatch_incidents\{.*\}) \d+$/gm, "$1 0"),
  },
  "shows no dead letter": {
    from: 40,
    caughtAs: /dead notif/,
    ...ofMetrics(/^(sandwatch_notifications_dead\{.*\}) \d+$/gm, "$1 0"),
  },
  "is always ready": {
    from: 50,
    caughtAs: /ready, though/,
    scraped: (scrape) => ({ ...scrape, ready: 200 }),
  },
  "sends few heartbeats": {
    from: 50,
    caughtAs: /no heartbeat/,
    configured: ({ heartbeat, ...configured }) => ({
      ...configured,
      heartbeat: heartbeat && { everyMs: 3_600_000 },
    }),
  },
  "sends a heartbeat before it has polled": {
    from: 50,
    caughtAs: /a heartbeat at .* was not polled/,
    pingsAtStart: true,
  },
  "sends heartbeats though its store does not answer": {
    from: 120,
    caughtAs: /a heartbeat at .* though the store refuses everything/,
    ...ofStore((store) => ({
      check: async () => {},
      outbox: { ...store.outbox, waiting: () => store.outbox.waiting().catch(() => []) },
    })),
  },
  "sends heartbeats though its polls are not stored": {
    from: 20,
    caughtAs: /a heartbeat at .* though the last poll of/,
    ...showsBeforeItCommits,
  },
  "shows a poll before it commits it": { from: 50, ...showsBeforeItCommits },
  "cannot start again": {
    from: 50,
    caughtAs: /could not start/,
    between: "pragma user_version = 1000000",
  },
  "takes too long to stop": {
    from: 50,
    caughtAs: /did not stop in/,
    stopsLateMs: 20_000,
  },
  "fails to stop": {
    from: 50,
    caughtAs: /stopped badly: .*simulated/,
    ...ofStore((store) => ({
      async close() {
        await store.close();
        throw new Error("simulated");
      },
    })),
  },
  "never stops": {
    from: 50,
    caughtAs: /did not stop in/,
    store: (store) => ({ ...store, close: () => new Promise<void>(() => {}) }),
  },
  "commits only the first poll of a group": {
    from: 99,
    store(store) {
      let firstMs = -Infinity;
      return {
        ...store,
        async commitPoll(targetId, verdict) {
          const { monotonicMs } = verdict.at;
          if (monotonicMs - firstMs < 500) return;
          firstMs = monotonicMs;
          await store.commitPoll(targetId, verdict);
        },
      };
    },
  },
  "does not say when time is observed again": {
    from: 50,
    caughtAs: /gaps (overlap|invent the time)/,
    ...ofVerdicts((verdict) => ({ ...verdict, gap: { ...verdict.gap, closedAtMs: null } })),
  },
  "forgets at a restart what is missing": {
    from: 103,
    caughtAs: /changes (lack|invent)/,
    ...ofPart("targets", (targets) => ({
      async *snapshotsOf(some) {
        for await (const [id, { sandboxes }] of targets.snapshotsOf(some)) {
          const present = sandboxes.map((sandbox) => ({
            ...sandbox,
            missing: 0,
            servers: sandbox.servers.map((server) => ({ ...server, missing: 0 })),
          }));
          yield [id, runAtOnce(restoreSnapshot(present))] as const;
        }
      },
    })),
  },
  "writes only changes of status": {
    from: 50,
    caughtAs: /changes (lack|invent)/,
    ...ofVerdicts((verdict) => {
      const { diff } = verdict;
      return { ...verdict, diff: { ...diff, servers: diff.changes } };
    }),
  },
  "does not record servers that are missing": {
    from: 50,
    caughtAs: /changes lack .*"missing"/,
    ...ofVerdicts((verdict) => {
      const servers = verdict.diff.servers.filter(({ kind }) => kind !== "missing");
      return { ...verdict, diff: { ...verdict.diff, servers } };
    }),
  },
  "does not write the clocks of what did not change": {
    from: 50,
    caughtAs: /did not write that .* was polled/,
    writesNoClocks: true,
  },
  "claims to have observed more than it has written": {
    from: 50,
    caughtAs: /gaps lack the time/,
    between: "update targets set recorded_to_ms = recorded_to_ms + 400",
  },
  "stores no gap": {
    from: 53,
    caughtAs: /gaps lack the time/,
    ...ofVerdicts((verdict) => ({ ...verdict, gap: noGapStep })),
  },
  "takes all time for a gap": {
    from: 50,
    caughtAs: /gaps invent the time/,
    store(store) {
      const last = new Map<number, number>();
      return {
        ...store,
        commitPoll(targetId, verdict) {
          const { utcMs: toMs } = verdict.at;
          const fromMs = last.get(targetId) ?? toMs;
          last.set(targetId, toMs);
          const opened = fromMs < toMs ? { fromMs, toMs, reason: "late" as const } : null;
          const gap = { closedAtMs: null, opened };
          return store.commitPoll(targetId, { ...verdict, gap });
        },
      };
    },
  },
  "takes a read-only disk for a good one": {
    from: 50,
    caughtAs: /shown as up, though its last poll was not stored/,
    ...ofStore((store) => ({
      async commitPoll(targetId, verdict) {
        try {
          await store.commitPoll(targetId, verdict);
        } catch (error) {
          if (!(error instanceof Error && error.message.includes("readonly"))) throw error;
        }
      },
    })),
  },
  "does not store again after a failure": {
    from: 50,
    caughtAs: /was not stored, though nothing prevented it/,
    store(store) {
      let failed: unknown = null;
      return {
        ...store,
        async commitPoll(targetId, verdict) {
          if (failed !== null) throw failed;
          try {
            await store.commitPoll(targetId, verdict);
          } catch (error) {
            failed = error;
            throw error;
          }
        },
      };
    },
  },
};
