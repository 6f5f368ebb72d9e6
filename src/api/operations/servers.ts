import { z } from "zod";
import { statuses } from "../../fleet/model.ts";
import { pageOfServers } from "../../fleet/server-page.ts";
import type { PlacedServer } from "../../fleet/snapshot.ts";
import { runInSlices } from "../../lib/run-in-slices.ts";
import type { FleetContext } from "../context.ts";
import { cursorOf, cursorText, limitField, listed, listOfWords, names } from "../fields.ts";
import { nextField, notes, nullableText, pageOf, sandboxText, serverLabels } from "../fields.ts";
import { serverText, targetFields, texts, time } from "../fields.ts";
import { matchNotes } from "../notes.ts";
import { defineOperation } from "../operation.ts";
import { timeText } from "../view.ts";
import { compareTargets, selectTargets } from "./targets.ts";

export const serverView = z.object({
  ...serverLabels,
  status: z.enum(statuses),
  since: time.describe("When this status was first observed"),
  benchmark: nullableText,
  tags: texts,
  missing: z.int().min(0).describe("How many complete listings in a row lacked it"),
  stale: z.boolean().describe("Whether its target is stale"),
});
export type ServerView = z.output<typeof serverView>;

const filterFields = z.strictObject({
  sandbox: sandboxText.optional().describe("A sandbox's id, or a prefix of one"),
  server: serverText.optional().describe("A server's id, a prefix of one, or a server's name"),
  server_name: names.describe("Names of servers"),
  status: listOfWords(statuses),
  tag: names.describe("Tags, of which a server has at least one"),
});

export const listServers = defineOperation({
  name: "listServers",
  method: "GET",
  permission: "read",
  path: "/servers",
  summary: "The current state of servers, by region, key, sandbox and id",
  request: z.strictObject({
    ...targetFields,
    ...filterFields.shape,
    limit: limitField,
    cursor: cursorOf(z.tuple([z.string(), z.string(), z.string(), z.string()])),
  }),
  response: z.object({ servers: listed(serverView), next: nextField, notes }),
  async handle(context: FleetContext, { limit: size, cursor, region, key, ...filter }) {
    const isWanted = serverFilter(filter);
    const [lastRegion = "", lastKey = "", sandboxId = "", serverId = ""] = cursor ?? [];
    const found: ServerView[] = [];
    for (const { target, state, withheld } of selectTargets(context.targets, { region, key })) {
      const order = cursor ? compareTargets(target, { region: lastRegion, key: lastKey }) : 1;
      if (order < 0) continue;
      const slices = pageOfServers(state.snapshot, {
        after: order === 0 ? { sandboxId, serverId } : null,
        // One more shows whether there is a next page.
        limit: size + 1 - found.length,
        isWanted,
      });
      for (const { sandbox, server } of await runInSlices(slices)) {
        const { id, name, status, since, benchmark, tags, missing } = server;
        found.push({
          ...target,
          sandbox_id: sandbox.id,
          server_id: id,
          server_name: name,
          status,
          since: timeText(since.atMs),
          benchmark,
          tags,
          missing,
          stale: withheld,
        });
      }
      if (found.length > size) break;
    }
    const { page, next } = pageOf(found, size, (last) =>
      cursorText([last.region, last.key, last.sandbox_id, last.server_id]),
    );
    return { servers: page, next, notes: matchNotes(context, { region, key }) };
  },
});

function serverFilter(filter: z.output<typeof filterFields>) {
  const { sandbox: sandboxId, server: text } = filter;
  const statusSet = new Set<string>(filter.status);
  const nameSet = new Set<string | null>(filter.server_name);
  const tagSet = new Set(filter.tag);
  return (server: PlacedServer["server"], sandbox: PlacedServer["sandbox"]): boolean =>
    (statusSet.size === 0 || statusSet.has(server.status)) &&
    (nameSet.size === 0 || nameSet.has(server.name)) &&
    (sandboxId === undefined || sandbox.id.startsWith(sandboxId)) &&
    (text === undefined || server.name === text || server.id.startsWith(text)) &&
    (tagSet.size === 0 || server.tags.some((tag) => tagSet.has(tag)));
}
