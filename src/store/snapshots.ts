import { setImmediate } from "node:timers/promises";
import type { Insertable, Selectable } from "kysely";
import type { Verdict } from "../alerts/judge.ts";
import { emptySnapshot, restoreSnapshot } from "../fleet/snapshot.ts";
import type { Sandbox, Server, Since, Snapshot } from "../fleet/snapshot.ts";
import { statuses } from "../fleet/model.ts";
import { runInSlices } from "../lib/iterables.ts";
import { isBeyond, prepareUpsert } from "./sql-helpers.ts";
import type { Together } from "./shared-commits.ts";
import { createRowReading, listIn, oneOf, textIn, type RowReading } from "./row-reading.ts";
import type { Db, SinceColumn, Tables } from "./tables.ts";

const idsPerStatement = 500;
const rowsPerRead = 5_000;

/** When a poll ended, and what it showed. */
export type PollDiff = Pick<Verdict, "at" | "progress" | "diff">;

/**
 * Writes what polls changed, within their transaction: one row for each sandbox and server that is another object than
 * before. The row of one that is gone stays, as changes refer to it.
 *
 * @param polls that followed one another
 */
export function writeSnapshot(
  together: Together,
  targetId: number,
  polls: readonly PollDiff[],
): void {
  together(upsertSandboxes, lastSandboxes(targetId, polls));
  together(upsertServers, lastServers(targetId, polls));
}

/** When its changes happened: it never goes back within a target, though the clock is set back. */
export function recordedAtMs({ at, progress }: Pick<PollDiff, "at" | "progress">): number {
  return progress.recorded?.toMs ?? at.utcMs;
}

/** The rows of one poll as they come; of several each sandbox's last one, as a statement may hold a row just once. */
function lastSandboxes(
  targetId: number,
  polls: readonly PollDiff[],
): Iterable<Insertable<Tables["sandboxes"]>> {
  const rows = polls.values().flatMap((poll) =>
    poll.diff.sandboxes.values().flatMap(({ before, after }) => {
      const sandbox = after ?? before;
      return sandbox ? [sandboxToRow(targetId, sandbox, after ? null : recordedAtMs(poll))] : [];
    }),
  );
  if (polls.length === 1) return rows;
  return new Map(rows.map((row) => [row.sandbox_id, row] as const)).values();
}

/** Reads rows of servers as `lastSandboxes` reads those of sandboxes. */
function lastServers(
  targetId: number,
  polls: readonly PollDiff[],
): Iterable<Insertable<Tables["servers"]>> {
  const rows = polls.values().flatMap((poll) =>
    poll.diff.servers.values().flatMap(({ sandboxId, before, after }) => {
      const server = after ?? before;
      const goneAtMs = after ? null : recordedAtMs(poll);
      return server ? [serverToRow(targetId, sandboxId, server, goneAtMs)] : [];
    }),
  );
  if (polls.length === 1) return rows;
  return new Map(
    rows.map((row) => [JSON.stringify([row.sandbox_id, row.server_id]), row] as const),
  ).values();
}

const upsertSandboxes = prepareUpsert("sandboxes", ["target_id", "sandbox_id"]);
const upsertServers = prepareUpsert("servers", ["target_id", "sandbox_id", "server_id"]);

function sandboxToRow(
  targetId: number,
  sandbox: Sandbox,
  goneAtMs: number | null,
): Insertable<Tables["sandboxes"]> {
  return {
    target_id: targetId,
    sandbox_id: sandbox.id,
    benchmark: sandbox.benchmark,
    created_at_ms: sandbox.createdAt,
    status: sandbox.status,
    stated_status: sandbox.statedStatus,
    ...sinceColumns(sandbox.since),
    missing: sandbox.missing,
    gone_at_ms: goneAtMs,
  };
}

function serverToRow(
  targetId: number,
  sandboxId: string,
  server: Server,
  goneAtMs: number | null,
): Insertable<Tables["servers"]> {
  return {
    target_id: targetId,
    sandbox_id: sandboxId,
    server_id: server.id,
    server_name: server.name,
    benchmark: server.benchmark,
    tags: server.tags.length === 0 ? null : JSON.stringify(server.tags),
    status: server.status,
    has_stated: Number(server.hasStated),
    ...sinceColumns(server.since),
    missing: server.missing,
    gone_at_ms: goneAtMs,
  };
}

function sinceColumns({ atMs, observedMs, momentKnown }: Since) {
  return {
    since_at_ms: atMs,
    since_observed_ms: observedMs,
    since_witnessed: Number(momentKnown),
  };
}

/** A target's snapshot as it was last committed. */
export async function readSnapshot(
  reader: Db,
  targetId: number,
  reading = createRowReading(),
): Promise<Snapshot> {
  const snapshots = await readSnapshots(reader, [targetId], reading);
  return snapshots.get(targetId) ?? emptySnapshot;
}

/** The snapshots of several targets, each as it was last committed. */
export async function readSnapshots(
  reader: Db,
  targetIds: readonly number[],
  reading = createRowReading(),
): Promise<ReadonlyMap<number, Snapshot>> {
  const shared = createSharedValues();
  const servers = await readServers(reader, targetIds, reading, shared);
  const rows = await reader
    .selectFrom("sandboxes")
    .selectAll()
    .where("target_id", "in", targetIds)
    .where("gone_at_ms", "is", null)
    .orderBy("target_id")
    .orderBy("sandbox_id")
    .execute();
  const byTarget = Map.groupBy(rows, (row) => row.target_id);
  const snapshots = new Map<number, Snapshot>();
  for (const targetId of targetIds) {
    const sandboxes = reading.all("sandboxes", byTarget.get(targetId) ?? [], (row): Sandbox => ({
      id: row.sandbox_id,
      status: oneOf(statuses, row.status),
      statedStatus: row.stated_status && oneOf(statuses, row.stated_status),
      benchmark: shared.text(row.benchmark),
      createdAt: row.created_at_ms,
      since: shared.since(row),
      missing: row.missing,
      servers: servers.get(targetId)?.get(row.sandbox_id) ?? [],
    }));
    snapshots.set(targetId, await runInSlices(restoreSnapshot(sandboxes)));
  }
  return snapshots;
}

/** The servers of each target by their sandbox. */
async function readServers(
  reader: Db,
  targetIds: readonly number[],
  reading: RowReading,
  shared: SharedValues,
) {
  const byTarget = new Map<number, Map<string, Server[]>>();
  const read = (row: Selectable<Tables["servers"]>): Server => readServer(row, shared);
  const use = (row: Selectable<Tables["servers"]>): void => {
    const server = reading.read("servers", row, read);
    if (!server) return;
    let ofTarget = byTarget.get(row.target_id);
    if (!ofTarget) byTarget.set(row.target_id, (ofTarget = new Map()));
    const ofSandbox = ofTarget.get(row.sandbox_id);
    if (ofSandbox) ofSandbox.push(server);
    else ofTarget.set(row.sandbox_id, [server]);
  };
  const select = reader
    .selectFrom("servers")
    .selectAll()
    .where("gone_at_ms", "is", null)
    .orderBy("sandbox_id")
    .orderBy("server_id");
  const [targetId] = targetIds;
  if (targetId === undefined || targetIds.length > 1) {
    for (const row of await select.where("target_id", "in", targetIds).execute()) use(row);
    return byTarget;
  }
  let after = ["", ""];
  for (;;) {
    const rows = await select
      .where("target_id", "=", targetId)
      .where(isBeyond(["sandbox_id", "server_id"], ">", after))
      .limit(rowsPerRead)
      .execute();
    for (const row of rows) use(row);
    const last = rows.at(-1);
    if (!last || rows.length < rowsPerRead) return byTarget;
    after = [last.sandbox_id, last.server_id];
    await setImmediate();
  }
}

/** So few servers that they are read at once, or a target alone, of which parts are read. */
export function* groupsToRead<T extends { readonly servers: number }>(
  targets: Iterable<T>,
): Iterable<readonly T[]> {
  let group: T[] = [];
  let sum = 0;
  for (const target of targets) {
    if (
      group.length > 0 &&
      (sum + target.servers > rowsPerRead || group.length >= idsPerStatement)
    ) {
      yield group;
      [group, sum] = [[], 0];
    }
    group.push(target);
    sum += target.servers;
  }
  if (group.length > 0) yield group;
}

function readServer(row: Selectable<Tables["servers"]>, shared: SharedValues): Server {
  return {
    id: row.server_id,
    name: shared.text(row.server_name),
    status: oneOf(statuses, row.status),
    hasStated: row.has_stated === 1,
    benchmark: shared.text(row.benchmark),
    tags: shared.tags(row.tags),
    since: shared.since(row),
    missing: row.missing,
  };
}

const noTags: readonly string[] = [];

type SharedValues = ReturnType<typeof createSharedValues>;

/** Equal texts, tags and moments of many rows become one object, as a listing gives them. */
function createSharedValues() {
  const texts = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  const moments = new Map<string, Since>();
  const shared = <Value>(known: Map<string, Value>, key: string, make: () => Value): Value => {
    let value = known.get(key);
    if (value === undefined) known.set(key, (value = make()));
    return value;
  };
  return {
    text: (text: string | null): string | null =>
      text === null ? null : shared(texts, text, () => text),
    tags: (tags: string | null): readonly string[] =>
      tags === null ? noTags : shared(lists, tags, () => listIn(JSON.parse(tags), textIn)),
    since(row: Pick<Tables["sandboxes"], SinceColumn>): Since {
      const { since_at_ms: atMs, since_observed_ms: observedMs } = row;
      const momentKnown = row.since_witnessed === 1;
      const moment = `${atMs} ${observedMs} ${momentKnown}`;
      return shared(moments, moment, () => ({ atMs, observedMs, momentKnown }));
    },
  };
}
