import { noAccounts } from "../../../src/core/occupancy/accounts.ts";
import type { IncidentOutcome } from "../../../src/core/incident-ledger.ts";
import type { ScenarioReceiver, ScenarioRule } from "../scenario.ts";
import type { Configured } from "../settings.ts";
import type { Scrape } from "../history.ts";
import type { StoreMutation } from "./host.ts";
import type { Reaction } from "./virtual-network.ts";

type Answer = Extract<Reaction, { kind: "answers" }>;

/** What is wrong with a daemon, at one of its boundaries. */
export interface Mutation {
  readonly store?: StoreMutation;
  readonly configured?: (settings: Configured) => Configured;
  /** What it makes of an answer of the service. */
  readonly answer?: (answer: Answer) => Answer;
  /** What it makes of how it does. */
  readonly scraped?: (scrape: Scrape) => Scrape;
  /** SQL that runs on the store between two processes. */
  readonly between?: string;
  /** How much longer it takes to stop. Milliseconds. */
  readonly stopsLateMs?: number;
}

const ofRules = (change: (rule: ScenarioRule) => ScenarioRule): Mutation => ({
  configured: (settings) => ({ ...settings, rules: settings.rules.map(change) }),
});

const ofReceivers = (change: (receiver: ScenarioReceiver) => ScenarioReceiver): Mutation => ({
  configured: (settings) => ({ ...settings, receivers: settings.receivers.map(change) }),
});

const nothing: IncidentOutcome = { written: [], dropped: [], flaps: [], steps: [], outbox: [] };

const ofStore = (store: StoreMutation): Mutation => ({ store });

/** What the oracle must catch: the product with one of its promises broken. */

/** Sends after it has noted that it has sent. */
const acknowledgesBeforeSending: Mutation = ofStore((store) => ({
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
const writesTheOutboxAfterThePoll: Mutation = ofStore((store) => ({
  ...store,
  async commitPoll(targetId, verdict) {
    const { incidents } = verdict;
    await store.commitPoll(targetId, { ...verdict, incidents: { ...incidents, outbox: [] } });
    const { outbox } = incidents;
    await store.commitIncidents(targetId, { ...nothing, outbox });
  },
}));

/** Has no message wait for an earlier one about the same subject. */
const keepsNoOrder: Mutation = ofStore((store, databases) => ({
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
const commitsTheFirstOfAGroup: Mutation = ofStore((store) => {
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
const showsBeforeItCommits: Mutation = ofStore((store) => ({
  ...store,
  async commitPoll(targetId, verdict) {
    store.commitPoll(targetId, verdict).catch(() => {});
  },
}));

const forgetsSilencesAtRestart: Mutation = { between: "delete from silences" };

const forgetsAcknowledgementsAtRestart: Mutation = { between: "delete from acknowledgements" };

const cannotStartAgain: Mutation = { between: "pragma user_version = 1000000" };

const stopsTooLate: Mutation = { stopsLateMs: 20_000 };

const ignoresRetryAfter: Mutation = {
  answer: (answer) => ({ ...answer, headers: {} }),
};

const shows = (from: RegExp, to: string): Mutation => ({
  scraped: (scrape) => ({ ...scrape, metrics: scrape.metrics?.replaceAll(from, to) ?? null }),
});

const showsAllAsUp = shows(/^(sandwatch_target_up\{.*\}) 0$/gm, "$1 1");

const showsErrorsAsIdle = shows(/^(sandbox_servers\{.*status=")error(")/gm, "$1idle$2");

const showsNoIncident = shows(/^(sandwatch_incidents\{.*\}) \d+$/gm, "$1 0");

const showsNoDeadLetter = shows(/^(sandwatch_notifications_dead\{.*\}) \d+$/gm, "$1 0");

const isAlwaysReady: Mutation = { scraped: (scrape) => ({ ...scrape, ready: 200 }) };

const sendsFewHeartbeats: Mutation = {
  configured: (settings) => ({
    ...settings,
    heartbeat: settings.heartbeat && { everyMs: 3_600_000 },
  }),
};

const rewrites = (from: RegExp, to: string): Mutation => ({
  answer: (answer) => ({
    ...answer,
    chunks: [Buffer.concat(answer.chunks.map((chunk) => Buffer.from(chunk)))].map((body) =>
      body.toString("utf8").replaceAll(from, to),
    ),
  }),
});

const knowsNoMaintenance: Mutation = {
  configured: (settings) => ({ ...settings, maintenance: [] }),
};

const decodesNothing: Mutation = {
  answer: (answer) =>
    answer.headers?.["content-encoding"] === undefined
      ? answer
      : { ...answer, headers: { ...answer.headers, "content-encoding": "none-known" } },
};

/** Whatever the listing says of how many there are. */
const countsByItself: Mutation = {
  answer(answer) {
    const body = Buffer.concat(answer.chunks.map((chunk) => Buffer.from(chunk))).toString("utf8");
    const listed = body.match(/"local_sandbox_id"/g)?.length ?? 0;
    return { ...answer, chunks: [body.replace(/"total_count":[^}]*/, `"total_count":${listed}`)] };
  },
};

const ignoresNewNames = rewrites(/"server_name":"tool-[^"]*"/g, `"server_name":"tool-1"`);

const takesUnknownForRecovery = rewrites(/"status":(?:null|"resting")/g, `"status":"idle"`);

const tellsEachTimeOfWhatFlaps = ofRules((rule) =>
  rule.on === "server" ? { ...rule, flap: null } : rule,
);

/** Ends at a start what no rule owns, and tells nobody. */
const endsInSilence: Mutation = ofStore((store) => ({
  ...store,
  commitIncidents: (targetId, incidents) =>
    store.commitIncidents(targetId, { ...incidents, outbox: [] }),
}));

const waitsForNoInterval = ofReceivers((receiver) => ({ ...receiver, groupIntervalMs: 0 }));

const mergesTooSoon = ofReceivers((receiver) => ({ ...receiver, mergeAbove: 1 }));

const pollsTwiceAsOften: Mutation = {
  configured: (settings) => ({ ...settings, intervalMs: settings.intervalMs / 2 }),
};

const sendsTooMany: Mutation = {
  configured: (settings) => ({ ...settings, rateLimit: { requests: 100, perMs: 1_000 } }),
};

/** Gives up without a word to the other receivers. */
const keepsQuietAboutDeadLetters: Mutation = ofStore((store) => ({
  ...store,
  outbox: {
    ...store.outbox,
    settle: (seq, settlement, attempt) =>
      store.outbox.settle(seq, settlement, attempt, () => nothing),
  },
}));

/** Says that it sends them again. */
const replaysNothing: Mutation = ofStore((store) => ({
  ...store,
  notifications: { ...store.notifications, replay: async () => 1 },
}));

/** Goes on with empty buckets. */
const forgetsOpenBucketsAtRestart: Mutation = ofStore((store) => ({
  ...store,
  targets: {
    ...store.targets,
    all: async () =>
      (await store.targets.all()).map((target) => ({ ...target, accounts: noAccounts })),
  },
}));

/** Books for servers only what was watched. */
const booksNothingWhileBlind: Mutation = ofStore((store) => ({
  ...store,
  commitPoll(targetId, verdict) {
    const written = verdict.accounting.written.map(({ resolution, bucket }) => {
      const seen = Array.from(bucket.names, ([name, account]) => {
        return [name, { ...account, unobservedMs: 0 }] as const;
      });
      return { resolution, bucket: { ...bucket, names: new Map(seen) } };
    });
    const accounting = { ...verdict.accounting, written };
    return store.commitPoll(targetId, { ...verdict, accounting });
  },
}));

export interface NegativeControl {
  /** What the daemon does. */
  readonly name: string;
  readonly mutation: Mutation;
  /** What the oracle must say of it; anything where this is absent. */
  readonly caughtAs?: RegExp;
  /** The first of so many short worlds is one in which it shows. */
  readonly from: number;
}

/** All that the oracle must catch. */
export const negativeControls: readonly NegativeControl[] = [
  {
    name: "knows no maintenance windows",
    mutation: knowsNoMaintenance,
    from: 1,
    caughtAs:
      /not then for that|something else was not told|told to be over|told too early|told for nothing/,
  },
  { name: "decodes nothing", mutation: decodesNothing, from: 4, caughtAs: /was given up/ },
  {
    name: "takes a listing in part for a complete one",
    mutation: countsByItself,
    from: 1,
    caughtAs: /changes invent .*"absent"/,
  },
  { name: "ignores new names", mutation: ignoresNewNames, from: 1, caughtAs: /buckets of/ },
  { name: "shows every target as up", mutation: showsAllAsUp, from: 1, caughtAs: /shown as up/ },
  {
    name: "shows errors as idle",
    mutation: showsErrorsAsIdle,
    from: 27,
    caughtAs: /servers error/,
  },
  { name: "shows no incident", mutation: showsNoIncident, from: 27, caughtAs: /firing incidents/ },
  { name: "shows no dead letter", mutation: showsNoDeadLetter, from: 6, caughtAs: /dead notif/ },
  { name: "is always ready", mutation: isAlwaysReady, from: 1, caughtAs: /ready, though/ },
  { name: "sends few heartbeats", mutation: sendsFewHeartbeats, from: 1, caughtAs: /no heartbeat/ },
  { name: "acknowledges before it sends", mutation: acknowledgesBeforeSending, from: 27 },
  { name: "keeps no order", mutation: keepsNoOrder, from: 27 },
  { name: "commits only the first poll of a group", mutation: commitsTheFirstOfAGroup, from: 27 },
  { name: "forgets silences at a restart", mutation: forgetsSilencesAtRestart, from: 31 },
  { name: "tells each time of what flaps", mutation: tellsEachTimeOfWhatFlaps, from: 39 },
  {
    name: "writes the outbox apart from the poll",
    mutation: writesTheOutboxAfterThePoll,
    from: 10,
  },
  { name: "shows a poll before it commits it", mutation: showsBeforeItCommits, from: 1 },
  { name: "forgets who acknowledged", mutation: forgetsAcknowledgementsAtRestart, from: 1 },
  { name: "ends incidents of no rule in silence", mutation: endsInSilence, from: 39 },
  { name: "waits for no interval", mutation: waitsForNoInterval, from: 27 },
  { name: "merges groups too soon", mutation: mergesTooSoon, from: 27 },
  { name: "keeps quiet about what it gave up", mutation: keepsQuietAboutDeadLetters, from: 6 },
  {
    name: "polls twice as often",
    mutation: pollsTwiceAsOften,
    from: 27,
    caughtAs: /had \d+ turns from/,
  },
  {
    name: "sends more than the limit of its key",
    mutation: sendsTooMany,
    from: 35,
    caughtAs: /sent more than \d+ requests/,
  },
  {
    name: "ignores Retry-After",
    mutation: ignoresRetryAfter,
    from: 2,
    caughtAs: /asked for \d+.* of patience/,
  },
  {
    name: "takes an unknown status for a recovery",
    mutation: takesUnknownForRecovery,
    from: 28,
    caughtAs: /told to be over/,
  },
  { name: "cannot start again", mutation: cannotStartAgain, from: 27, caughtAs: /could not start/ },
  { name: "takes too long to stop", mutation: stopsTooLate, from: 1, caughtAs: /did not stop in/ },
  { name: "replays nothing", mutation: replaysNothing, from: 2 },
  { name: "forgets what was booked last", mutation: forgetsOpenBucketsAtRestart, from: 27 },
  { name: "books nothing while it is blind", mutation: booksNothingWhileBlind, from: 27 },
];
