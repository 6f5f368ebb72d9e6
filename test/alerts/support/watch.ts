import { flapKey } from "../../../src/alerts/flap-record.ts";
import type { FlapRecord } from "../../../src/alerts/flap-record.ts";
import { incidentKey } from "../../../src/alerts/incident.ts";
import type { Incident } from "../../../src/alerts/incident.ts";
import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import { judgePoll, retireIncidents } from "../../../src/alerts/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../../../src/alerts/judge.ts";
import type { SilenceFacts } from "../../../src/alerts/silence.ts";
import type { FailureReason } from "../../../src/fleet/model.ts";
import { wants } from "../../../src/alerts/notification.ts";
import type { OutboxItem } from "../../../src/alerts/notification.ts";
import type { Rule } from "../../../src/alerts/rule.ts";
import { initialProgress } from "../../../src/alerts/target-state.ts";
import type { TargetState } from "../../../src/alerts/target-state.ts";
import { watchTarget } from "../../../src/polling/watched-target.ts";
import type { WatchedTarget } from "../../../src/polling/watched-target.ts";
import { noOpenBuckets } from "../../../src/fleet/accounting.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { emptySnapshot, restoreSnapshot } from "../../../src/fleet/snapshot.ts";
import type { ListedServer, Snapshot } from "../../../src/fleet/snapshot.ts";
import { readListing } from "../../support/listing.ts";
import type { Listing } from "../../support/listing.ts";
import { listingOf, serverRule, target } from "./samples.ts";

export const startUtcMs = Date.UTC(2026, 10, 20, 9, 30);
export const intervalMs = 30_000;

export interface WatchOptions {
  readonly rules?: readonly Rule[];
  readonly goneAfter?: number;
  /** The receivers that exist, and whether each wants to hear of resolves. */
  readonly receivers?: Readonly<Record<string, boolean>>;
}

/** One target being watched: what the polling loop does, with a sheet of paper for a store. */
export interface Watch {
  readonly state: TargetState;
  /** All that was ever put into the outbox, in order. */
  readonly outbox: readonly OutboxItem[];
  /** Lets time pass; every poll comes one interval after the one before, and this much later. */
  wait(ms: number): void;
  /** A poll that is answered by a listing. */
  list(listing: Listing): Verdict;
  /** A poll that is answered by a complete listing of these servers, all of one sandbox. */
  see(...servers: readonly ListedServer[]): Verdict;
  /** The same, but the listing is partial. */
  seePart(...servers: readonly ListedServer[]): Verdict;
  fail(reason?: FailureReason): Verdict;
  /** From now on a silence is in force about these, and no other one; null: it ended. */
  silence(about: ((facts: SilenceFacts) => boolean) | null): void;
  acknowledge(incidentId: string, author: string): void;
  /** Forgets all but what was written, and starts with these rules (or the same ones). */
  restart(more?: WatchOptions): IncidentOutcome;
}

export function createWatch(options: WatchOptions = {}): Watch {
  const paper = createPaper();
  const outbox: OutboxItem[] = [];
  let settings = {
    rules: [serverRule()],
    goneAfter: 2,
    receivers: { oncall: true },
    ...options,
  };
  let isSilenced: ((facts: SilenceFacts) => boolean) | null = null;
  const acknowledgements = new Map<string, string>();
  let utcMs = startUtcMs;
  let monotonicMs = 5_000;
  let incidentsOpened = 0;

  const judgeOptions = (): JudgeOptions => ({
    rules: settings.rules,
    goneAfter: settings.goneAfter,
    interventions: {
      silencedAt: () => isSilenced,
      acknowledgedBy: (id) => acknowledgements.get(id) ?? null,
    },
    notifies: (receiver, type) => {
      const sendResolved = new Map(Object.entries(settings.receivers)).get(receiver);
      const wishes = { sendResolved: sendResolved === true, sendAcknowledged: false };
      return wants(sendResolved === undefined ? undefined : wishes, type);
    },
    newIncidentId: () => `incident-${(incidentsOpened += 1)}`,
  });

  const pass = (ms: number): void => {
    utcMs += ms;
    monotonicMs += ms;
  };

  const start = (): WatchedTarget => {
    monotonicMs = 1_000;
    const progress = structuredClone(paper.progress);
    const known = {
      openIncidents: paper.openIncidents(),
      flaps: paper.flaps(),
      buckets: structuredClone(paper.buckets),
    };
    const how = { staleAfter: 3, restoredForMs: Number.POSITIVE_INFINITY, nowUtcMs: utcMs };
    return watchTarget({ id: 1, target, progress, ...known }, paper.snapshot(), how);
  };
  let watched = start();

  const poll = (outcome: PollOutcome): Verdict => {
    pass(intervalMs);
    const verdict = judgePoll(watched.state, outcome, { utcMs, monotonicMs }, judgeOptions());
    paper.progress = verdict.progress;
    paper.buckets = verdict.accounting.open;
    paper.writeSnapshot(verdict.snapshot);
    paper.writeIncidents(verdict.incidents);
    outbox.push(...verdict.incidents.outbox);
    watched.accept(verdict);
    return verdict;
  };
  const list = (listing: Listing): Verdict =>
    poll({ kind: "listed", listing: readListing(listing) });

  return {
    get state() {
      return watched.state;
    },
    outbox,
    wait: pass,
    list,
    see: (...servers) => list(listingOf(...servers)),
    seePart: (...servers) => list({ ...listingOf(...servers), complete: false }),
    fail: (reason = "timeout") => poll({ kind: "failed", reason }),
    silence(about) {
      isSilenced = about;
    },
    acknowledge: (id, author) => acknowledgements.set(id, author),
    restart(more = {}) {
      settings = { ...settings, ...more };
      const incidents = new Map(
        paper.openIncidents().map((open) => [incidentKey(open.rule, open.subject), open]),
      );
      const flaps = new Map(paper.flaps().map((record) => [flapKey(record), record]));
      const retired = retireIncidents({ target, incidents, flaps }, utcMs, judgeOptions());
      paper.writeIncidents(retired);
      outbox.push(...retired.outbox);
      watched = start();
      return retired;
    },
  };
}

/** What a store would hold, copied as it is written. */
function createPaper() {
  let sandboxes: Snapshot["sandboxes"] = emptySnapshot.sandboxes;
  const incidents = new Map<string, Incident>();
  const records = new Map<string, FlapRecord>();
  return {
    progress: initialProgress,
    buckets: noOpenBuckets,
    writeSnapshot(snapshot: Snapshot): void {
      sandboxes = structuredClone(snapshot.sandboxes);
    },
    writeIncidents({ written, dropped, flaps }: IncidentOutcome): void {
      for (const incident of written) incidents.set(incident.id, structuredClone(incident));
      for (const { id } of dropped) incidents.delete(id);
      for (const record of flaps) {
        if (record.enteredMs.length === 0) records.delete(flapKey(record));
        else records.set(flapKey(record), structuredClone(record));
      }
    },
    snapshot: (): Snapshot => runAtOnce(restoreSnapshot(sandboxes)),
    openIncidents: (): Incident[] =>
      structuredClone([...incidents.values()].filter(({ phase }) => phase.name !== "resolved")),
    flaps: (): FlapRecord[] => structuredClone([...records.values()]),
  };
}
