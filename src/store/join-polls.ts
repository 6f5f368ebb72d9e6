import { flapKey } from "../core/flap-record.ts";
import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { Verdict } from "../core/judge.ts";
import type { BucketWrite } from "../core/occupancy/accounts.ts";
import type { PageDelta } from "../core/snapshot/page-delta.ts";
import type { Page } from "../core/snapshot/page.ts";

/** What polls that followed one another come to. Of what a later one wrote anew it has only that. */
export interface JoinedPolls {
  /** From the first to the last, for what each of them adds. */
  readonly each: readonly Verdict[];
  readonly last: Verdict;
  readonly accounting: Verdict["accounting"];
  readonly pages: PageDelta | null;
  readonly incidents: IncidentOutcome;
}

export function onePoll(verdict: Verdict): JoinedPolls {
  const { accounting, pages, incidents } = verdict;
  return { each: [verdict], last: verdict, accounting, pages, incidents };
}

/** Null: there are none. */
export function joinPolls(verdicts: readonly Verdict[]): JoinedPolls | null {
  const last = verdicts.at(-1);
  if (!last) return null;
  return {
    each: verdicts,
    last,
    accounting: { accounts: last.accounting.accounts, written: joinBuckets(verdicts) },
    pages: joinPages(verdicts),
    incidents: joinIncidents(verdicts),
  };
}

/** In the order in which they were first written, as they were last. */
function joinBuckets(verdicts: readonly Verdict[]): readonly BucketWrite[] {
  const written = new Map<string, BucketWrite>();
  for (const { accounting } of verdicts) {
    for (const each of accounting.written) {
      written.set(`${each.resolution} ${each.bucket.startMs}`, each);
    }
  }
  return [...written.values()];
}

/** What takes the pages from before the first of the polls to after the last. */
function joinPages(verdicts: readonly Verdict[]): PageDelta | null {
  const before = new Map<number, Page | null>();
  let all: readonly Page[] | null = null;
  for (const { pages } of verdicts) {
    if (!pages) continue;
    ({ all } = pages);
    for (const { before: earlier, after } of pages.replaced) {
      if (!before.has(after.id)) before.set(after.id, earlier);
    }
    // One that only a removal names was stored before the first of them.
    for (const id of pages.removed) if (!before.has(id)) before.set(id, null);
  }
  if (all === null) return null;
  const known = new Map(all.map((page) => [page.id, page]));
  return {
    replaced: Array.from(before, ([id, earlier]) => ({
      before: earlier,
      after: known.get(id),
    })).filter((each): each is { before: Page | null; after: Page } => each.after !== undefined),
    removed: [...before.keys()].filter((id) => !known.has(id)),
    all,
  };
}

/** Each incident as it was last, but for those that came to nothing. */
function joinIncidents(verdicts: readonly Verdict[]): IncidentOutcome {
  const written = new Map<string, IncidentOutcome["written"][number]>();
  const dropped = new Map<string, IncidentOutcome["dropped"][number]>();
  const flaps = new Map<string, IncidentOutcome["flaps"][number]>();
  const outbox: IncidentOutcome["outbox"][number][] = [];
  for (const { incidents } of verdicts) {
    for (const incident of incidents.written) written.set(incident.id, incident);
    for (const incident of incidents.dropped) {
      written.delete(incident.id);
      dropped.set(incident.id, incident);
    }
    for (const record of incidents.flaps) flaps.set(flapKey(record), record);
    outbox.push(...incidents.outbox);
  }
  return {
    written: [...written.values()],
    dropped: [...dropped.values()],
    flaps: [...flaps.values()],
    steps: [],
    outbox,
  };
}
