import { setImmediate } from "node:timers/promises";
import type { Insertable, Kysely, Selectable } from "kysely";
import type { Diff } from "../fleet/diff.ts";
import { runAtOnce } from "../fleet/slices.ts";
import { restoreSnapshot } from "../fleet/snapshot.ts";
import type { Sandbox, Server, Since, Snapshot } from "../fleet/snapshot.ts";
import { statuses } from "../fleet/status.ts";
import { batches, paced } from "../lib/paced.ts";
import { prepareUpsert } from "./prepared.ts";
import { isBeyond } from "./queries.ts";
import { createRowReading, oneOf, textIn } from "./row-reading.ts";
import type { RowReading } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

const idsPerStatement = 500;
const rowsPerRead = 5_000;

/** What a poll changed in a target's snapshot. */
export interface PollDiff {
  /** When the poll ended. UTC milliseconds. */
  readonly atMs: number;
  readonly diff: Pick<Diff, "sandboxes" | "servers">;
}

/**
 * Writes what polls changed, within their transaction: one row for each sandbox and server that is another object than
 * before. The row of a server that is gone stays, as changes refer to it.
 *
 * @param polls that followed one another
 */
export async function writeSnapshot(
  trx: Kysely<Tables>,
  targetId: number,
  polls: readonly PollDiff[],
): Promise<void> {
  const { known, gone } = lastSandboxes(polls);
  await upsertSandboxes(
    trx,
    known.map((sandbox) => sandboxToRow(targetId, sandbox)),
  );
  for await (const some of paced(batches(gone, idsPerStatement))) {
    await trx
      .deleteFrom("sandboxes")
      .where("target_id", "=", targetId)
      .where("sandbox_id", "in", some)
      .execute();
  }
  await upsertServers(trx, lastServers(targetId, polls));
}

function lastSandboxes(polls: readonly PollDiff[]) {
  const last = new Map<string, Sandbox | null>();
  for (const { diff } of polls) {
    for (const { before, after } of diff.sandboxes) last.set((after ?? before)?.id ?? "", after);
  }
  const known = [...last.values()].filter((sandbox) => sandbox !== null);
  return { known, gone: [...last.keys()].filter((id) => last.get(id) === null) };
}

/** The rows of one poll as they come; of several each server's last one, as a statement may hold a row just once. */
function lastServers(
  targetId: number,
  polls: readonly PollDiff[],
): Iterable<Insertable<Tables["servers"]>> {
  const rows = polls.values().flatMap(({ atMs, diff }) =>
    diff.servers.values().flatMap(({ sandboxId, before, after }) => {
      const server = after ?? before;
      const goneAtMs = after ? null : atMs;
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

function sandboxToRow(targetId: number, sandbox: Sandbox): Insertable<Tables["sandboxes"]> {
  return {
    target_id: targetId,
    sandbox_id: sandbox.id,
    status: sandbox.status,
    benchmark: sandbox.benchmark,
    missing: sandbox.missing,
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
    since_at_ms: server.since.atMs,
    since_observed_ms: server.since.observedMs,
    since_witnessed: Number(server.since.witnessed),
    missing: server.missing,
    gone_at_ms: goneAtMs,
  };
}

/** A target's snapshot as it was last committed. */
export async function readSnapshot(
  reader: Kysely<Tables>,
  targetId: number,
  reading = createRowReading(),
): Promise<Snapshot> {
  const servers = await readServers(reader, targetId, reading);
  const rows = await reader
    .selectFrom("sandboxes")
    .selectAll()
    .where("target_id", "=", targetId)
    .orderBy("sandbox_id")
    .execute();
  return runAtOnce(
    restoreSnapshot(
      reading.all("sandboxes", rows, idOfSandbox, (row) => ({
        id: row.sandbox_id,
        status: oneOf(statuses, row.status),
        benchmark: row.benchmark,
        missing: row.missing,
        servers: servers.get(row.sandbox_id) ?? [],
      })),
    ),
  );
}

function idOfSandbox(row: Selectable<Tables["sandboxes"]>): string {
  return `${row.sandbox_id} of target ${row.target_id}`;
}

async function readServers(
  reader: Kysely<Tables>,
  targetId: number,
  reading: RowReading,
): Promise<ReadonlyMap<string, readonly Server[]>> {
  const bySandbox = new Map<string, Server[]>();
  const shared = createShared();
  let after = { sandboxId: "", serverId: "" };
  for (;;) {
    const { sandboxId, serverId } = after;
    const rows = await reader
      .selectFrom("servers")
      .selectAll()
      .where("target_id", "=", targetId)
      .where("gone_at_ms", "is", null)
      .where(isBeyond(["sandbox_id", "server_id"], ">", [sandboxId, serverId]))
      .orderBy("sandbox_id")
      .orderBy("server_id")
      .limit(rowsPerRead)
      .execute();
    for (const row of rows) {
      const server = reading.read("servers", row.id, row, () => serverFromRow(row, shared));
      if (!server) continue;
      const servers = bySandbox.get(row.sandbox_id) ?? [];
      bySandbox.set(row.sandbox_id, servers);
      servers.push(server);
    }
    const last = rows.at(-1);
    if (!last || rows.length < rowsPerRead) return bySandbox;
    after = { sandboxId: last.sandbox_id, serverId: last.server_id };
    await setImmediate();
  }
}

/** Equal texts, tags and moments of many servers as one object, as a listing gives them. */
interface Shared {
  text(text: string | null): string | null;
  tags(json: string | null): readonly string[];
  since(since: Since): Since;
}

const noTags: readonly string[] = [];

function createShared(): Shared {
  const texts = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  const moments = new Map<string, Since>();
  const sharedIn = <Key, Value>(map: Map<Key, Value>, key: Key, value: () => Value): Value => {
    const known = map.get(key);
    if (known !== undefined) return known;
    const made = value();
    map.set(key, made);
    return made;
  };
  return {
    text: (text) => (text === null ? null : sharedIn(texts, text, () => text)),
    tags: (json) => (json === null ? noTags : sharedIn(lists, json, () => readTags(json))),
    since: (since) =>
      sharedIn(moments, `${since.atMs} ${since.observedMs} ${since.witnessed}`, () => since),
  };
}

function readTags(json: string): readonly string[] {
  const value: unknown = JSON.parse(json);
  if (Array.isArray(value)) return value.map(textIn);
  throw new TypeError("stored tags are not a list");
}

function serverFromRow(row: Selectable<Tables["servers"]>, shared: Shared): Server {
  return {
    id: row.server_id,
    name: shared.text(row.server_name),
    status: oneOf(statuses, row.status),
    benchmark: shared.text(row.benchmark),
    tags: shared.tags(row.tags),
    since: shared.since({
      atMs: row.since_at_ms,
      observedMs: row.since_observed_ms,
      witnessed: row.since_witnessed === 1,
    }),
    missing: row.missing,
  };
}
