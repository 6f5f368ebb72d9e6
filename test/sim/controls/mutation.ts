import type { DatabaseSync } from "node:sqlite";
import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import type { Verdict } from "../../../src/alerts/judge.ts";
import type { Store } from "../../../src/store/store.ts";
import type { ScenarioReceiver, Stage } from "../draw/receivers.ts";
import type { ScenarioRule } from "../draw/rules.ts";
import type { Scrape } from "../history.ts";
import { listingPath } from "../scenario.ts";
import type { Configured } from "../settings.ts";
import { bodyOf, type Answer } from "../support/virtual-network.ts";

/** What is wrong with a daemon, at one of its boundaries. */
export interface Mutation {
  /** Puts something between the daemon and its store. */
  readonly store?: (store: Store, databases: Iterable<DatabaseSync>) => Store;
  readonly configured?: (configured: Configured) => Configured;
  /** Whether its requests reach the service. */
  readonly asks?: (utcMs: number) => boolean;
  /** What it reads in place of an answer of the service. */
  readonly answer?: (answer: Answer, path: string) => Answer;
  /** What it sends to receivers in place of a body. */
  readonly sent?: (body: string) => string;
  /** What it shows in place of its metrics and readiness. */
  readonly scraped?: (scrape: Scrape) => Scrape;
  /** SQL that runs on the store between two processes. */
  readonly between?: string;
  /** SQL that runs on the store within a reload. */
  readonly reloading?: (stage: Stage) => string;
  /** The clocks of targets whose polls changed nothing are only written when it stops. */
  readonly writesNoClocks?: boolean;
  /** How much longer it takes to stop. Milliseconds. */
  readonly stopsLateMs?: number;
  /** Whether it sends a heartbeat as soon as it starts. */
  readonly pingsAtStart?: boolean;
}

/** A broken daemon. */
export interface NegativeControl extends Mutation {
  /** The first of some short worlds is one in which it shows. */
  readonly from: number;
  /** What the oracle must say of it; anything where this is absent. */
  readonly caughtAs?: RegExp;
}

export const noIncidents: IncidentOutcome = {
  written: [],
  dropped: [],
  flaps: [],
  steps: [],
  outbox: [],
};

/** Replaces some functions of the store. */
export const ofStore = (
  change: (store: Store, databases: Iterable<DatabaseSync>) => Partial<Store>,
): Mutation => ({
  store: (store, databases) => ({ ...store, ...change(store, databases) }),
});

/** Commits other verdicts of polls than those that were decided. */
export const ofVerdicts = (change: (verdict: Verdict, targetId: number) => Verdict): Mutation =>
  ofStore((store) => ({
    commitPoll: (targetId, verdict) => store.commitPoll(targetId, change(verdict, targetId)),
  }));

/** The same for what they decided of incidents. */
export const ofIncidents = (
  change: (incidents: IncidentOutcome) => Partial<IncidentOutcome>,
): Mutation =>
  ofVerdicts(({ incidents, ...verdict }) => ({
    ...verdict,
    incidents: { ...incidents, ...change(incidents) },
  }));

/** Replaces some functions of one part of the store. */
export const ofPart = <
  Part extends
    | "acknowledgements"
    | "outbox"
    | "notifications"
    | "notified"
    | "probes"
    | "regions"
    | "targets",
>(
  part: Part,
  change: (own: Store[Part], databases: Iterable<DatabaseSync>) => Partial<Store[Part]>,
): Mutation =>
  ofStore((store, databases) => ({
    [part]: { ...store[part], ...change(store[part], databases) },
  }));

export const ofRules = (change: (rule: ScenarioRule) => ScenarioRule): Mutation => ({
  configured: (configured) => ({ ...configured, rules: configured.rules.map(change) }),
});

export const ofReceivers = (
  change: (receiver: ScenarioReceiver) => ScenarioReceiver,
): Mutation => ({
  configured: (configured) => ({ ...configured, receivers: configured.receivers.map(change) }),
});

/** Reads something else than a listing says, where it comes whole and is not encoded. */
export const ofListings = (change: (body: string) => string): Mutation => ({
  answer(answer, path) {
    const { headers, breaksAfter } = answer;
    const isPlain = headers?.["content-encoding"] === undefined && breaksAfter === undefined;
    if (path !== listingPath || !isPlain) return answer;
    const body = bodyOf(answer).toString("utf8");
    const changed = change(body);
    return changed === body ? answer : { ...answer, chunks: [changed] };
  },
});

export const ofMetrics = (from: RegExp, to: string): Mutation => ({
  scraped: (scrape) => ({ ...scrape, metrics: scrape.metrics?.replaceAll(from, to) ?? null }),
});

export const isRefusal = ({ status }: Answer): boolean => status === 401 || status === 403;

/** The listing is judged as complete, whatever it says of how many sandboxes there are. */
export const ignoresTotalCount = ofListings((body) => {
  const listed = body.match(/"local_sandbox_id"/g)?.length ?? 0;
  return body.replace(/"total_count":[^}]*/, `"total_count":${listed}`);
});

/** Shows what a poll decided before it is committed. */
export const showsBeforeItCommits: Mutation = {
  store: (store) => ({
    ...store,
    async commitPoll(targetId, verdict) {
      store.commitPoll(targetId, verdict).catch(() => {});
    },
  }),
};
