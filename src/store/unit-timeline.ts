import type { Gap } from "../fleet/recorded-time.ts";
import { statuses, type Status } from "../fleet/status.ts";
import type { RowReading } from "./row-reading.ts";
import type { FoldedCell } from "./fold-changes.ts";
import type { HistoryTarget } from "./rolled-up.ts";
import type { Db } from "./tables.ts";
import { beginFold, readUnobserved, selectUnits } from "./unit-history.ts";

/** Whose time is folded: one server or, without its id, one sandbox. */
export interface TimelineQuery extends Gap {
  readonly sandboxId: string;
  readonly serverId: string | null;
  /** Whether its target is up: then nothing is known to have changed since the last poll. */
  readonly isUp: boolean;
}

/** A time in which it had one status; `absent`: it was not there. */
export interface Segment extends Gap {
  readonly status: Status | "unobserved" | "absent";
}

export interface UnitTimeline {
  /** In order, without a gap between them. Time of which nothing is known is unobserved. */
  readonly segments: readonly Segment[];
  /** It changed so often that only the latest changes are read. */
  readonly truncated: boolean;
}

const mostChanges = 2_000;

/** How one server or sandbox spent a range: each change of it and each edge of a gap ends a cell. @param keptFromMs of changes */
export async function foldTimeline(
  reader: Db,
  target: HistoryTarget | undefined,
  keptFromMs: number,
  { sandboxId, serverId, isUp, fromMs, toMs }: TimelineQuery,
  reading: RowReading,
): Promise<UnitTimeline> {
  const segments: Segment[] = [];
  let atMs = fromMs;
  const add = (status: Segment["status"], untilMs: number): void => {
    const last = segments.at(-1);
    if (last?.status === status) segments[segments.length - 1] = { ...last, toMs: untilMs };
    else segments.push({ status, fromMs: atMs, toMs: untilMs });
    atMs = untilMs;
  };
  if (!target) {
    add("unobserved", toMs);
    return { segments, truncated: false };
  }
  const subject = serverId === null ? "sandbox" : "server";
  const knownMs = Math.min(toMs, Math.max(fromMs, target.recorded.fromMs, keptFromMs));
  let unit = selectUnits(reader, target.id, subject, knownMs).where(
    "of.sandbox_id",
    "=",
    sandboxId,
  );
  if (serverId !== null) unit = unit.where("of.server_id", "=", serverId);
  const rows = await unit.selectAll().execute();
  const oldest = await reader
    .selectFrom("changes")
    .select("at_ms as atMs")
    .where(
      subject,
      "in",
      rows.map(({ id }) => id),
    )
    .where("at_ms", ">=", knownMs)
    .where("at_ms", "<", toMs)
    .orderBy("at_ms", "desc")
    .offset(mostChanges)
    .limit(1)
    .executeTakeFirst();
  const startMs = oldest?.atMs ?? knownMs;
  const gaps = await readUnobserved(reader, target, { fromMs: startMs, toMs }, isUp);
  const range = { fromMs: startMs, toMs, untilMs: toMs, gaps };
  const values = (): readonly string[] => [""];
  const { fold, steps } = await beginFold(reader, target.id, subject, rows, values, range, reading);
  if (startMs > fromMs) add("unobserved", startMs);
  const edges = gaps.flatMap((gap) => [gap.fromMs, gap.toMs]);
  let next = 0;
  const endCell = (untilMs: number): void => {
    if (untilMs > atMs) add(statusOf(fold.take(atMs, untilMs)), untilMs);
  };
  const passUntil = (untilMs: number): void => {
    for (; (edges[next] ?? untilMs) < untilMs; next += 1) endCell(edges[next] ?? untilMs);
    endCell(untilMs);
  };
  for await (const some of steps) {
    for (const step of some) {
      passUntil(step.row.at_ms);
      fold.step(step);
    }
  }
  passUntil(toMs);
  return { segments, truncated: oldest !== undefined };
}

/** Of a cell in which nothing changed. */
function statusOf(cell: FoldedCell | null): Segment["status"] {
  const account = cell?.bucket.names.get("");
  if (!cell || cell.bucket.unobservedMs > 0 || (account?.unobservedMs ?? 0) > 0)
    return "unobserved";
  return statuses.find((status) => (account?.ms[status] ?? 0) > 0) ?? "absent";
}
