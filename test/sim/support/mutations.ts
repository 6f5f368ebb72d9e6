import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import { noOpenBuckets } from "../../../src/fleet/accounting.ts";
import type { Bucket } from "../../../src/fleet/buckets.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { restoreSnapshot } from "../../../src/fleet/snapshot.ts";
import { transitions } from "../poll-schedule.ts";
import type { ScenarioReceiver, ScenarioRule } from "../scenario.ts";
import type { Stage } from "../stages.ts";
import type { Configured } from "../settings.ts";
import type { Scrape } from "../history.ts";
import type { StoreMutation } from "./host-deps.ts";
import type { OnlookerFaults } from "./onlookers.ts";
import type { Reaction } from "./virtual-network.ts";

type Answer = Extract<Reaction, { kind: "answers" }>;

/** What is wrong with a daemon, at one of its boundaries. */
export interface Mutation {
  readonly store?: StoreMutation;
  readonly configured?: (settings: Configured) => Configured;
  /** Whether it asks the service for anything. Left out: it does. */
  readonly asks?: (utcMs: number) => boolean;
  /** What it makes of an answer of the service. */
  readonly answer?: (answer: Answer, path: string) => Answer;
  /** What it sends to receivers in place of a body. */
  readonly sent?: (body: string) => string;
  /** What it makes of how it does. */
  readonly scraped?: (scrape: Scrape) => Scrape;
  /** SQL that runs on the store between two processes. */
  readonly between?: string;
  /** SQL that runs on the store within a reload. */
  readonly reloading?: (stage: Stage) => string;
  /** What queries and other processes do to its store. */
  readonly onlookers?: OnlookerFaults;
  /** It does not look whether the files of its store are still there. */
  readonly overlooksItsFiles?: boolean;
  /** How much longer it takes to stop. Milliseconds. */
  readonly stopsLateMs?: number;
  /** Whether it sends a heartbeat as soon as it starts. */
  readonly pingsAtStart?: boolean;
}

export const ofRules = (change: (rule: ScenarioRule) => ScenarioRule): Mutation => ({
  configured: (settings) => ({ ...settings, rules: settings.rules.map(change) }),
});

const ofReceivers = (change: (receiver: ScenarioReceiver) => ScenarioReceiver): Mutation => ({
  configured: (settings) => ({ ...settings, receivers: settings.receivers.map(change) }),
});

const nothing: IncidentOutcome = {
  written: [],
  dropped: [],
  flaps: [],
  steps: [],
  outbox: [],
};

export const ofStore = (store: StoreMutation): Mutation => ({ store });

/** What the oracle must catch: the product with one of its promises broken. */

/** Sends after it has noted that it has sent. */
export const acknowledgesBeforeSending: Mutation = ofStore((store) => ({
  ...store,
  outbox: {
    ...store.outbox,
    async due(receiver, nowMs, limit, inFlight) {
      const due = await store.outbox.due(receiver, nowMs, limit, inFlight);
      for (const { seq } of due) {
        const settlement = { state: "delivered", settledAtMs: nowMs } as const;
        await store.outbox.settle(seq, settlement, { atMs: nowMs, failure: null }, () => nothing);
      }
      return due;
    },
  },
}));

/** Writes what is to be told in a transaction after that of the poll. */
export const writesTheOutboxAfterThePoll: Mutation = ofStore((store) => ({
  ...store,
  async commitPoll(targetId, verdict) {
    const { incidents } = verdict;
    await store.commitPoll(targetId, { ...verdict, incidents: { ...incidents, outbox: [] } });
    const { outbox } = incidents;
    await store.commitIncidents(targetId, { ...nothing, outbox });
  },
}));

/** Has no message wait for an earlier one about the same subject. */
export const keepsNoOrder: Mutation = ofStore((store, databases) => ({
  ...store,
  outbox: {
    ...store.outbox,
    async due(receiver, nowMs, limit, inFlight) {
      for (const database of databases) {
        if (database.isOpen && !database.isTransaction) {
          database.exec("update notifications set waits_for = null");
        }
      }
      return store.outbox.due(receiver, nowMs, limit, inFlight);
    },
  },
}));

/** Believes in a poll that is committed with others before it is committed, and loses all but the first. */
export const commitsTheFirstOfAGroup: Mutation = ofStore((store) => {
  let underWay: Promise<void> | null = null;
  return {
    ...store,
    commitPoll(targetId, verdict) {
      underWay ??= store.commitPoll(targetId, verdict).finally(() => (underWay = null));
      return underWay;
    },
  };
});

/** Shows what a poll decided before it is committed. */
export const showsBeforeItCommits: Mutation = ofStore((store) => ({
  ...store,
  async commitPoll(targetId, verdict) {
    store.commitPoll(targetId, verdict).catch(() => {});
  },
}));

export const forgetsSilencesAtRestart: Mutation = { between: "delete from silences" };

export const forgetsAcknowledgementsAtRestart: Mutation = {
  between: "delete from acknowledgements",
};

export const cannotStartAgain: Mutation = { between: "pragma user_version = 1000000" };

export const stopsTooLate: Mutation = { stopsLateMs: 20_000 };

export const failsToStop: Mutation = ofStore((store) => ({
  ...store,
  async close() {
    await store.close();
    throw new Error("simulated");
  },
}));

export const neverStops: Mutation = ofStore((store) => ({
  ...store,
  close: () => new Promise<void>(() => {}),
}));

export const pingsBeforeItPolls: Mutation = { pingsAtStart: true };

export const isRefusal = ({ status }: Answer): boolean => status === 401 || status === 403;

/** Takes a refusal of the key for any other failure. */
export const asksAgainAtEachPoll: Mutation = {
  answer: (answer) => (isRefusal(answer) ? { ...answer, status: 404 } : answer),
};

/** Leaves a key that was refused alone for an hour. */
export const keepsSilentForLong: Mutation = {
  answer: (answer) =>
    isRefusal(answer) ? { ...answer, status: 503, headers: { "retry-after": "3600" } } : answer,
};

export const ignoresRetryAfter: Mutation = {
  answer: (answer) => ({ ...answer, headers: {} }),
};

const shows = (from: RegExp, to: string): Mutation => ({
  scraped: (scrape) => ({ ...scrape, metrics: scrape.metrics?.replaceAll(from, to) ?? null }),
});

export const showsAllAsUp = shows(/^(sandwatch_target_up\{.*\}) 0$/gm, "$1 1");

export const showsErrorsAsIdle = shows(/^(sandbox_servers\{.*status=")error(")/gm, "$1idle$2");

export const showsNoIncident = shows(/^(sandwatch_incidents\{.*\}) \d+$/gm, "$1 0");

export const showsNoDeadLetter = shows(/^(sandwatch_notifications_dead\{.*\}) \d+$/gm, "$1 0");

export const isAlwaysReady: Mutation = { scraped: (scrape) => ({ ...scrape, ready: 200 }) };

export const sendsFewHeartbeats: Mutation = {
  configured: (settings) => ({
    ...settings,
    heartbeat: settings.heartbeat && { everyMs: 3_600_000 },
  }),
};

export const knowsNoMaintenance: Mutation = {
  configured: (settings) => ({ ...settings, maintenance: [] }),
};

export const decodesNothing: Mutation = {
  answer: (answer) =>
    answer.headers?.["content-encoding"] === undefined
      ? answer
      : { ...answer, headers: { ...answer.headers, "content-encoding": "none-known" } },
};

export const tellsEachTimeOfWhatFlaps = ofRules((rule) =>
  rule.on === "server" ? { ...rule, flap: null } : rule,
);

/** Ends at a start what no rule owns, and tells nobody. */
export const endsInSilence: Mutation = ofStore((store) => ({
  ...store,
  commitIncidents: (targetId, incidents) =>
    store.commitIncidents(targetId, { ...incidents, outbox: [] }),
}));

export const waitsForNoInterval = ofReceivers((receiver) => ({ ...receiver, groupIntervalMs: 0 }));

export const mergesTooSoon = ofReceivers((receiver) => ({ ...receiver, mergeAbove: 1 }));

export const pollsTwiceAsOften: Mutation = {
  configured: (settings) => ({ ...settings, intervalMs: settings.intervalMs / 2 }),
};

/** Falls silent in the hour that comes twice. */
export const pausesInAutumn: Mutation = {
  asks: (now) => !transitions.some(({ utcMs, byMs }) => now >= utcMs && now < utcMs - byMs),
};

/** Takes the times of its schedule to be those of UTC. */
export const knowsNoZone: Mutation = {
  configured: (settings) => ({
    ...settings,
    schedule: settings.schedule && { ...settings.schedule, timeZone: "UTC" },
  }),
};

export const sendsTooMany: Mutation = {
  configured: (settings) => ({ ...settings, rateLimit: { requests: 100, perMs: 1_000 } }),
};

/** Gives up without a word to the other receivers. */
export const keepsQuietAboutDeadLetters: Mutation = ofStore((store) => ({
  ...store,
  outbox: {
    ...store.outbox,
    settle: (seq, settlement, attempt) =>
      store.outbox.settle(seq, settlement, attempt, () => nothing),
  },
}));

/** Says that it sends them again. */
export const replaysNothing: Mutation = ofStore((store) => ({
  ...store,
  notifications: { ...store.notifications, replay: async () => 1 },
}));

/** Goes on with empty buckets. */
export const forgetsOpenBucketsAtRestart: Mutation = ofStore((store) => ({
  ...store,
  targets: {
    ...store.targets,
    all: async () =>
      (await store.targets.all()).map((target) => ({ ...target, buckets: noOpenBuckets })),
  },
}));

/** Records for servers only what was observed. */
export const recordsNothingUnobserved: Mutation = ofStore((store) => ({
  ...store,
  commitPoll(targetId, verdict) {
    const written = verdict.accounting.written.map(({ resolution, bucket }) => {
      const names = Array.from(bucket.names, ([name, account]) => {
        return [name, { ...account, unobservedMs: 0 }] as const;
      });
      return { resolution, bucket: { ...bucket, names: new Map(names) } };
    });
    const accounting = { ...verdict.accounting, written };
    return store.commitPoll(targetId, { ...verdict, accounting });
  },
}));

/** Writes a bucket only when something was added to it: not when it closes. */
export const writesNoClosedBucketAgain: Mutation = ofStore((store) => {
  const openOf = new Map<number, Bucket | null>();
  return {
    ...store,
    commitPoll(targetId, verdict) {
      const open = openOf.get(targetId);
      openOf.set(targetId, verdict.accounting.open["5m"]);
      const written = verdict.accounting.written.filter(({ bucket }) => bucket !== open);
      return store.commitPoll(targetId, {
        ...verdict,
        accounting: { ...verdict.accounting, written },
      });
    },
  };
});

/** Adds dwell times to the bucket above theirs. */
export const shiftsDwellTimes: Mutation = ofStore((store) => ({
  ...store,
  commitPoll(targetId, verdict) {
    const written = verdict.accounting.written.map(({ resolution, bucket }) => {
      const names = Array.from(bucket.names, ([name, account]) => {
        const counts = [0, ...account.dwells.counts.slice(0, -1)];
        return [name, { ...account, dwells: { ...account.dwells, counts } }] as const;
      });
      return { resolution, bucket: { ...bucket, names: new Map(names) } };
    });
    const accounting = { ...verdict.accounting, written };
    return store.commitPoll(targetId, { ...verdict, accounting });
  },
}));

/** Goes on as if each server had been in the last listing. */
export const forgetsWhatIsMissingAtRestart: Mutation = ofStore((store) => ({
  ...store,
  targets: {
    ...store.targets,
    async snapshotOf(targetId) {
      const { sandboxes } = await store.targets.snapshotOf(targetId);
      return runAtOnce(
        restoreSnapshot(
          sandboxes.map((sandbox) => ({
            ...sandbox,
            missing: 0,
            servers: sandbox.servers.map((server) => ({ ...server, missing: 0 })),
          })),
        ),
      );
    },
  },
}));

/** Writes no server that differs in anything but its status. */
export const writesOnlyChangesOfStatus: Mutation = ofStore((store) => ({
  ...store,
  commitPoll(targetId, verdict) {
    const { diff } = verdict;
    return store.commitPoll(targetId, { ...verdict, diff: { ...diff, servers: diff.changes } });
  },
}));
