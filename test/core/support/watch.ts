import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { copyAccounts } from "../../support/history/copy-bucket.ts";
import { flapKey } from "../../../src/core/flap-record.ts";
import type { FlapRecord } from "../../../src/core/flap-record.ts";
import { incidentKey } from "../../../src/core/incident.ts";
import type { Incident } from "../../../src/core/incident.ts";
import type { IncidentOutcome } from "../../../src/core/incident-ledger.ts";
import { judgePoll, retireIncidents } from "../../../src/core/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../../../src/core/judge.ts";
import type { Silenced } from "../../../src/core/interventions.ts";
import type { BodyMark } from "../../../src/core/listing-intake.ts";
import type { FailureReason, ListedSandbox, ListedServer } from "../../../src/core/model.ts";
import { wants } from "../../../src/core/wants.ts";
import { noAccounts } from "../../../src/core/occupancy/accounts.ts";
import type { OutboxItem } from "../../../src/core/notification.ts";
import type { Rule } from "../../../src/core/rule.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import { pageOf } from "../../../src/core/snapshot/page.ts";
import type { Page } from "../../../src/core/snapshot/page.ts";
import type { PageDelta } from "../../../src/core/snapshot/page-delta.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { restoreSnapshot } from "../../../src/core/snapshot/restore-snapshot.ts";
import { initialProgress } from "../../../src/core/target-state.ts";
import type { TargetState } from "../../../src/core/target-state.ts";
import { watchTarget } from "../../../src/polling/watched-target.ts";
import type { WatchedTarget } from "../../../src/polling/watched-target.ts";
import { takeIn } from "../../support/take-in.ts";
import { listingOf, serverRule, target } from "./samples.ts";
import type { Listing } from "../../support/listing.ts";

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
  silence(about: Silenced | null): void;
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
  let isSilenced: Silenced | null = null;
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
    tells: (receiver, type) => {
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
      accounts: copyAccounts(paper.accounts),
    };
    const how = { staleAfter: 3, restoredForMs: Number.POSITIVE_INFINITY, nowUtcMs: utcMs };
    return watchTarget({ id: 1, target, progress, ...known }, paper.snapshot(), how);
  };
  let watched = start();

  const poll = (outcome: PollOutcome): Verdict => {
    pass(intervalMs);
    const verdict = judgePoll(watched.state, outcome, { utcMs, monotonicMs }, judgeOptions());
    paper.progress = verdict.progress;
    paper.accounts = verdict.accounting.accounts;
    if (verdict.pages) paper.writePages(verdict.pages);
    paper.writeIncidents(verdict.incidents);
    outbox.push(...verdict.incidents.outbox);
    watched.accept(verdict);
    return verdict;
  };
  const list = ({ sandboxes, complete }: Listing): Verdict => {
    const intake = openIntake(watched.state.snapshot, { goneAfter: settings.goneAfter });
    const body = markOf(sandboxes);
    if (complete && isDeepStrictEqual(intake.knownBody, body)) {
      intake.sameBody();
    } else takeIn(intake, sandboxes).cameIn(body);
    return poll({ kind: "listed", intake, complete });
  };

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
  const pages = new Map<number, Page>();
  const incidents = new Map<string, Incident>();
  const records = new Map<string, FlapRecord>();
  return {
    progress: initialProgress,
    accounts: noAccounts,
    writePages({ replaced, removed }: PageDelta): void {
      for (const { after } of replaced) pages.set(after.id, copyOf(after));
      for (const id of removed) pages.delete(id);
    },
    writeIncidents({ written, dropped, flaps }: IncidentOutcome): void {
      for (const incident of written) incidents.set(incident.id, structuredClone(incident));
      for (const { id } of dropped) incidents.delete(id);
      for (const record of flaps) {
        if (record.enteredMs.length === 0) records.delete(flapKey(record));
        else records.set(flapKey(record), structuredClone(record));
      }
    },
    snapshot: (): PackedSnapshot =>
      restoreSnapshot([...pages.values()].toSorted((one, other) => one.id - other.id)),
    openIncidents: (): Incident[] =>
      structuredClone([...incidents.values()].filter(({ phase }) => phase.name !== "resolved")),
    flaps: (): FlapRecord[] => structuredClone([...records.values()]),
  };
}

function markOf(sandboxes: readonly ListedSandbox[]): BodyMark {
  const text = JSON.stringify(sandboxes);
  return {
    length: text.length,
    hash: createHash("sha256").update(text).digest().readBigUInt64LE(),
  };
}

function copyOf(page: Page): Page {
  return pageOf(page, page.words);
}
