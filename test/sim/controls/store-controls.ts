import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Verdict } from "../../../src/alerts/judge.ts";
import { noOpenBuckets } from "../../../src/fleet/accounting.ts";
import type { Bucket } from "../../../src/fleet/buckets.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { emptySnapshot, restoreSnapshot } from "../../../src/fleet/snapshot.ts";
import { ofMetrics, ofPart, ofStore, ofVerdicts, showsBeforeItCommits } from "./mutation.ts";
import type { Mutation, NegativeControl } from "./mutation.ts";

type BucketWrite = Verdict["accounting"]["written"][number];
type NameAccount = BucketWrite["bucket"] extends { readonly names: ReadonlyMap<string, infer A> }
  ? A
  : never;

const ofWrittenBuckets = (
  change: (written: readonly BucketWrite[], verdict: Verdict, targetId: number) => BucketWrite[],
): Mutation =>
  ofVerdicts((verdict, targetId) => {
    const written = change(verdict.accounting.written, verdict, targetId);
    return { ...verdict, accounting: { ...verdict.accounting, written } };
  });

const ofNames = (change: (account: NameAccount) => NameAccount): Mutation =>
  ofWrittenBuckets((written) =>
    written.map(({ resolution, bucket }) => {
      const names = new Map(Array.from(bucket.names, ([name, each]) => [name, change(each)]));
      return { resolution, bucket: { ...bucket, names } };
    }),
  );

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
      let underWay: Promise<void> | null = null;
      return {
        ...store,
        commitPoll(targetId, verdict) {
          underWay ??= store.commitPoll(targetId, verdict).finally(() => (underWay = null));
          return underWay;
        },
      };
    },
  },
  "forgets open buckets at a restart": {
    from: 50,
    ...ofPart("targets", (targets) => ({
      some: async (names) =>
        (await targets.some(names)).map((target) => ({ ...target, buckets: noOpenBuckets })),
    })),
  },
  "records nothing while it does not observe": {
    from: 53,
    ...ofNames((account) => ({ ...account, unobservedMs: 0 })),
  },
  "writes no bucket that closes unchanged": {
    from: 32,
    caughtAs: /are recorded in 5m/,
    store(store) {
      const openOf = new Map<number, Bucket | null>();
      return {
        ...store,
        commitPoll(targetId, verdict) {
          const { accounting } = verdict;
          const open = openOf.get(targetId);
          openOf.set(targetId, accounting.open["5m"]);
          const written = accounting.written.filter(({ bucket }) => bucket !== open);
          return store.commitPoll(targetId, {
            ...verdict,
            accounting: { ...accounting, written },
          });
        },
      };
    },
  },
  "adds dwell times to the next bucket of the histogram": {
    from: 53,
    caughtAs: /buckets of/,
    ...ofNames((account) => ({
      ...account,
      dwells: { ...account.dwells, counts: [0, ...account.dwells.counts.slice(0, -1)] },
    })),
  },
  "forgets at a restart what is missing": {
    from: 50,
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
    ...ofVerdicts((verdict) => ({ ...verdict, diff: { ...verdict.diff, interruptions: [] } })),
  },
  "stores no gap": {
    from: 53,
    caughtAs: /gaps lack the time/,
    ...ofVerdicts((verdict) => ({ ...verdict, gap: null })),
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
          const gap = fromMs < toMs ? { fromMs, toMs } : null;
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
  "overlooks that its store was replaced": {
    from: 9,
    caughtAs: /(was ready|notified|went on storing).* though its store was replaced/,
    overlooksItsFiles: true,
  },
  "changes its store when it is queried": {
    from: 50,
    caughtAs: /^queries at \d+ ms: changed the store/,
    beforeQueries(storePath) {
      using database = new DatabaseSync(storePath);
      database.exec("update commit_sequence set value = value + 1");
    },
  },
  "lets a second process start": {
    from: 99,
    caughtAs: /^a second process at \d+ ms: started/,
    beforeSecondProcess: (storePath) => rmSync(`${storePath}.lock`, { force: true }),
  },
  "does not start with an unreadable row": {
    from: 32,
    caughtAs: /could not start: Error: a row cannot be read/,
    ...ofStore((store) => ({
      targets: {
        ...store.targets,
        async some(names) {
          const some = await store.targets.some(names);
          if (store.unreadable.size > 0) throw new Error("a row cannot be read");
          return some;
        },
      },
    })),
  },
  "loses what is beside an unreadable row": {
    from: 83,
    caughtAs: /changes (lack|invent)/,
    ...ofStore((store) => ({
      targets: {
        ...store.targets,
        async *snapshotsOf(some) {
          for await (const [id, snapshot] of store.targets.snapshotsOf(some)) {
            const isDamaged = store.unreadable.has("servers") || store.unreadable.has("sandboxes");
            yield [id, isDamaged ? emptySnapshot : snapshot] as const;
          }
        },
      },
    })),
  },
  "takes unreadable messages for delivered": {
    from: 16,
    caughtAs: /left at the end: .* 0 dead notifications, where [1-9]\d* cannot be read/,
    ...ofPart("outbox", (outbox) => ({
      settleUnreadable: (receiver, itemSeqs, { settledAtMs }, judge) =>
        outbox.settleUnreadable(receiver, itemSeqs, { state: "delivered", settledAtMs }, judge),
    })),
  },
};
