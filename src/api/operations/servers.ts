import { z } from "zod";
import { statuses } from "../../fleet/model.ts";
import type { Target } from "../../fleet/model.ts";
import { pageOfServers } from "../../fleet/server-page.ts";
import type { ServerPageQuery } from "../../fleet/server-page.ts";
import type { PlacedServer } from "../../fleet/snapshot.ts";
import type { Status } from "../../fleet/status.ts";
import { runInSlices } from "../../lib/run-in-slices.ts";
import {
  limit,
  listOf,
  notes,
  nullableText,
  serverText,
  texts,
  time,
  timeText,
} from "../fields.ts";
import { matchNotes } from "../name-notes.ts";
import { defineOperation } from "../operation.ts";
import {
  compareTargets,
  cursorOf,
  cursorText,
  name,
  selectTargets,
  targetFields,
} from "../target-list.ts";
import type { FleetContext } from "../target-list.ts";

const serverFields = z.strictObject({
  sandbox: name.optional().describe("A sandbox's id, or the beginning of one"),
  server: serverText.optional().describe("A server's id, the beginning of one, or a server's name"),
  server_name: listOf(name).describe("Names of servers"),
  status: listOf(z.enum(statuses, statuses.join(", "))),
  tag: listOf(name).describe("Tags, of which a server has at least one"),
});

export const serverView = z.object({
  region: z.string(),
  key: z.string(),
  sandbox_id: z.string(),
  server_id: z.string(),
  server_name: nullableText,
  status: z.enum(statuses),
  since: time.describe("When this status was first observed"),
  benchmark: nullableText,
  tags: texts,
  missing: z.int().min(0).describe("How many complete listings in a row lacked it"),
  stale: z.boolean().describe("Whether its target is stale"),
});
export type ServerView = z.output<typeof serverView>;

export const listServers = defineOperation({
  name: "listServers",
  method: "GET",
  path: "/servers",
  summary: "The current state of servers, by region, key, sandbox and id",
  request: z.strictObject({
    ...targetFields,
    ...serverFields.shape,
    limit,
    cursor: cursorOf(z.tuple([z.string(), z.string(), z.string(), z.string()])),
  }),
  response: z.object({
    servers: z.array(serverView).readonly(),
    next: nullableText.describe("`cursor` of the next page; null: there is none"),
    notes,
  }),
  async handle(context: FleetContext, { limit: size, cursor, region, key, ...filter }) {
    const isWanted = serverFilter(filter);
    const [lastRegion = "", lastKey = "", sandboxId = "", serverId = ""] = cursor ?? [];
    const servers: ServerView[] = [];
    for (const { target, state, withheld } of selectTargets(context.targets, { region, key })) {
      const order = cursor ? compareTargets(target, { region: lastRegion, key: lastKey }) : 1;
      if (order < 0) continue;
      const page = pageOfServers(state.snapshot, {
        after: order === 0 ? { sandboxId, serverId } : null,
        // One more shows whether there is a next page.
        limit: size + 1 - servers.length,
        isWanted,
      });
      for (const placed of await runInSlices(page)) {
        servers.push(viewServer(target, placed, withheld));
      }
      if (servers.length > size) break;
    }
    const last = servers[size - 1];
    const place = last && [last.region, last.key, last.sandbox_id, last.server_id];
    return {
      servers: servers.slice(0, size),
      next: place && servers.length > size ? cursorText(place) : null,
      notes: matchNotes(context, { region, key }),
    };
  },
});

function serverFilter(filter: z.output<typeof serverFields>): ServerPageQuery["isWanted"] {
  const { sandbox: sandboxId, server: text, server_name: names, status, tag } = filter;
  const statusSet: ReadonlySet<Status> = new Set(status);
  const nameSet: ReadonlySet<string | null> = new Set(names);
  return (server, sandbox) =>
    (statusSet.size === 0 || statusSet.has(server.status)) &&
    (nameSet.size === 0 || nameSet.has(server.name)) &&
    (sandboxId === undefined || sandbox.id.startsWith(sandboxId)) &&
    (text === undefined || server.name === text || server.id.startsWith(text)) &&
    (tag.length === 0 || server.tags.some((each) => tag.includes(each)));
}

function viewServer(target: Target, { sandbox, server }: PlacedServer, stale: boolean): ServerView {
  return {
    ...target,
    sandbox_id: sandbox.id,
    server_id: server.id,
    server_name: server.name,
    status: server.status,
    since: timeText(server.since.atMs),
    benchmark: server.benchmark,
    tags: server.tags,
    missing: server.missing,
    stale,
  };
}
