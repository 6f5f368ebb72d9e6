import { targetName, type Target } from "../fleet/model.ts";
import type { ShownStatus } from "../fleet/fleet-search.ts";
import type { Server } from "../fleet/snapshot.ts";
import type { StoredSubjectChange } from "../store/changes.ts";
import type { Store } from "../store/store.ts";
import type { ReportSources } from "./report-sources.ts";
import { readTargetTimes } from "./reported-targets.ts";
import type { TimeRange } from "./time-range.ts";

/** A server or sandbox where it is, or was. */
export interface TimelineSubject {
  readonly target: Target;
  readonly sandboxId: string;
  /** Null: the sandbox itself. */
  readonly serverId: string | null;
}

/** A time in which it had one status; `absent`: it was not there. */
export interface Segment extends TimeRange {
  readonly status: ShownStatus | "absent";
}

/** How it is known now. */
export interface PresentState {
  /** Undefined: it is not there. */
  readonly present: Pick<Server, "status" | "since"> | undefined;
  /** Whether its target is up: then nothing is known to have changed since the last poll. */
  readonly up: boolean;
}

const mostChanges = 2_000;

/**
 * What a server or sandbox was, from its changes: the segments of a range that ends now, in order and without a gap between them.
 * Time of which nothing is known is unobserved.
 */
export async function readTimeline(
  { target, sandboxId, serverId }: TimelineSubject,
  { present, up }: PresentState,
  { fromMs, toMs }: TimeRange,
  { changes, reports }: { readonly changes: Store["changes"]; readonly reports: ReportSources },
): Promise<{ readonly segments: readonly Segment[]; readonly truncated: boolean }> {
  const about = changes.ofSubjects({
    ...(serverId === null ? { subject: ["sandbox"] } : { serverId }),
    sandboxes: { target, first: sandboxId, last: sandboxId },
    observations: true,
    direction: "desc",
    fromMs: Number.MIN_SAFE_INTEGER,
    toMs,
  });
  const segments: Segment[] = [];
  let oldest: StoredSubjectChange | null = null;
  let endMs = toMs;
  let count = 0;
  for await (const change of about) {
    oldest = change;
    segments.unshift({
      status: change.observation === "missing" ? "unobserved" : change.to,
      fromMs: Math.max(change.atMs, fromMs),
      toMs: endMs,
    });
    endMs = change.atMs;
    count += 1;
    if (endMs <= fromMs || count === mostChanges) break;
  }
  segments.unshift(...beforeChanges(oldest, present, { fromMs, toMs: endMs }));
  const { recorded } = await reports.occupancy.open({ region: [target.region], key: [target.key] });
  const watched = (await reports.targets()).find(
    (each) => targetName(each.target) === targetName(target),
  );
  const lastPollAtMs = up ? toMs : (watched?.lastPollAtMs ?? null);
  const reported = { target, untilMs: toMs, lastPollAtMs };
  const times = await readTargetTimes(reports, { fromMs, toMs }, [reported], recorded);
  const gaps = times.get(targetName(target))?.gaps ?? [];
  return {
    segments: joinEqual(withGaps(segments, gaps)),
    truncated: count === mostChanges && endMs > fromMs,
  };
}

/** What is known of the time before the oldest change that is kept. */
function beforeChanges(
  oldest: StoredSubjectChange | null,
  present: PresentState["present"],
  { fromMs, toMs }: TimeRange,
): readonly Segment[] {
  const status = oldest ? oldest.from : (present?.status ?? "absent");
  const knownMs = oldest ? toMs - (oldest.dwellMs ?? 0) : (present?.since.atMs ?? toMs);
  const knownFromMs = status === "absent" ? fromMs : Math.max(fromMs, knownMs);
  return [
    { status: "unobserved", fromMs, toMs: knownFromMs },
    { status, fromMs: knownFromMs, toMs },
  ];
}

/** @param gaps in order; none overlaps another */
function* withGaps(segments: readonly Segment[], gaps: readonly TimeRange[]): Iterable<Segment> {
  let next = 0;
  for (const { status, fromMs, toMs } of segments) {
    let atMs = fromMs;
    for (; next < gaps.length; next += 1) {
      const gap = gaps[next];
      if (!gap || gap.fromMs >= toMs) break;
      yield { status, fromMs: atMs, toMs: Math.max(atMs, gap.fromMs) };
      const endMs = Math.min(gap.toMs, toMs);
      yield { status: "unobserved", fromMs: Math.max(atMs, gap.fromMs), toMs: endMs };
      atMs = Math.max(atMs, endMs);
      // It reaches into the following segment.
      if (gap.toMs > toMs) break;
    }
    yield { status, fromMs: atMs, toMs };
  }
}

function joinEqual(segments: Iterable<Segment>): readonly Segment[] {
  const joined: Segment[] = [];
  for (const segment of segments) {
    if (segment.toMs <= segment.fromMs) continue;
    const last = joined.at(-1);
    if (last?.status === segment.status)
      joined[joined.length - 1] = { ...last, toMs: segment.toMs };
    else joined.push(segment);
  }
  return joined;
}
