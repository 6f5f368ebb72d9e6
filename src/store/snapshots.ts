import { setImmediate } from "node:timers/promises";
import type { Insertable, Selectable } from "kysely";
import type { Verdict } from "../alerts/judge.ts";
import { runAtOnce } from "../fleet/slices.ts";
import { restoreSnapshot } from "../fleet/snapshot.ts";
import type { Sandbox, Server, Since, Snapshot } from "../fleet/snapshot.ts";
import { statuses } from "../fleet/status.ts";
import { batches, paced } from "../lib/iterables.ts";
import { isBeyond, prepareUpsert } from "./sql-helpers.ts";
import { createRowReading, listIn, oneOf, textIn, type RowReading } from "./damaged-rows.ts";
import type { Db, Tables } from "./tables.ts";

const idsPerStatement = 500;
const rowsPerRead = 5_000;

/** When a poll ended, and what it showed. */
export type PollDiff = Pick<Verdict, "at" | "diff">;

/**
 * Writes what polls changed, within their transaction: one row for each sandbox and server that is another object than
 * before. The row of a server that is gone stays, as changes refer to it.
 *
 * @param polls that followed one another
 */
export async function writeSnapshot(
  trx: Db,
  targetId: number,
  polls: readonly PollDiff[],
): Promise<void> {
  const last = new Map<string, Sandbox | null>();
  for (const { diff } of polls) {
    for (const { before, after } of diff.sandboxes) last.set((after ?? before)?.id ?? "", after);
  }
  const known = last
    .values()
    .flatMap((sandbox) => (sandbox ? [sandboxToRow(targetId, sandbox)] : []));
  await upsertSandboxes(trx, known);
  const gone = last.entries().flatMap(([id, sandbox]) => (sandbox ? [] : [id]));
  for await (const some of paced(batches(gone, idsPerStatement))) {
    await trx
      .deleteFrom("sandboxes")
      .where("target_id", "=", targetId)
      .where("sandbox_id", "in", some)
      .execute();
  }
  await upsertServers(trx, lastServers(targetId, polls));
}

/** The rows of one poll as they come; of several each server's last one, as a statement may hold a row just once. */
function lastServers(
  targetId: number,
  polls: readonly PollDiff[],
): Iterable<Insertable<Tables["servers"]>> {
  const rows = polls.values().flatMap(({ at, diff }) =>
    diff.servers.values().flatMap(({ sandboxId, before, after }) => {
      const server = after ?? before;
      const goneAtMs = after ? null : at.utcMs;
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
  const { id, status, benchmark, missing } = sandbox;
  return { target_id: targetId, sandbox_id: id, status, benchmark, missing };
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
    since_witnessed: Number(server.since.momentKnown),
    missing: server.missing,
    gone_at_ms: goneAtMs,
  };
}

/** A target's snapshot as it was last committed. */
export async function readSnapshot(
  reader: Db,
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
  const idOf = (row: Selectable<Tables["sandboxes"]>): string =>
    `${row.sandbox_id} of target ${targetId}`;
  return runAtOnce(
    restoreSnapshot(
      reading.all("sandboxes", rows, idOf, ({ sandbox_id: id, status, benchmark, missing }) => ({
        id,
        status: oneOf(statuses, status),
        benchmark,
        missing,
        servers: servers.get(id) ?? [],
      })),
    ),
  );
}

async function readServers(
  reader: Db,
  targetId: number,
  reading: RowReading,
): Promise<ReadonlyMap<string, readonly Server[]>> {
  const bySandbox = new Map<string, Server[]>();
  const read = createServerReader();
  let after = ["", ""];
  for (;;) {
    const rows = await reader
      .selectFrom("servers")
      .selectAll()
      .where("target_id", "=", targetId)
      .where("gone_at_ms", "is", null)
      .where(isBeyond(["sandbox_id", "server_id"], ">", after))
      .orderBy("sandbox_id")
      .orderBy("server_id")
      .limit(rowsPerRead)
      .execute();
    for (const row of rows) {
      const server = reading.read("servers", row.id, row, read);
      if (!server) continue;
      const servers = bySandbox.get(row.sandbox_id);
      if (servers) servers.push(server);
      else bySandbox.set(row.sandbox_id, [server]);
    }
    const last = rows.at(-1);
    if (!last || rows.length < rowsPerRead) return bySandbox;
    after = [last.sandbox_id, last.server_id];
    await setImmediate();
  }
}

const noTags: readonly string[] = [];

/** Equal texts, tags and moments of many servers become one object, as a listing gives them. */
function createServerReader() {
  const texts = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  const moments = new Map<string, Since>();
  const shared = <Value>(known: Map<string, Value>, key: string, make: () => Value): Value => {
    let value = known.get(key);
    if (value === undefined) known.set(key, (value = make()));
    return value;
  };
  const textOf = (text: string | null): string | null =>
    text === null ? null : shared(texts, text, () => text);
  return (row: Selectable<Tables["servers"]>): Server => {
    const { tags, since_at_ms: atMs, since_observed_ms: observedMs } = row;
    const momentKnown = row.since_witnessed === 1;
    const moment = `${atMs} ${observedMs} ${momentKnown}`;
    return {
      id: row.server_id,
      name: textOf(row.server_name),
      status: oneOf(statuses, row.status),
      benchmark: textOf(row.benchmark),
      tags: tags === null ? noTags : shared(lists, tags, () => listIn(JSON.parse(tags), textIn)),
      since: shared(moments, moment, () => ({ atMs, observedMs, momentKnown })),
      missing: row.missing,
    };
  };
}
