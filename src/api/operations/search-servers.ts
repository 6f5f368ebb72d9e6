import { z } from "zod";
import { searchServers as search, serverSorts, shownStatuses } from "../../fleet/server-search.ts";
import type { PlacedServer } from "../../fleet/snapshot.ts";
import { runInSlices } from "../../lib/run-in-slices.ts";
import type { FleetContext } from "../context.ts";
import { flag, limitField, listed, listOfWords, names, notes, targetFields } from "../fields.ts";
import { matchNotes } from "../match-notes.ts";
import { defineOperation } from "../operation.ts";
import { selectTargets, serverView, viewServer } from "./targets.ts";

const count = z.int().min(0);
const offsetAllowed = "a whole number of at least 0";

const searchFields = z.strictObject({
  q: z
    .string()
    .max(1_000, "a text of at most 1000 characters")
    .default("")
    .describe("Words, each of which is a part of the name, an id, a tag or the benchmark"),
  ...targetFields,
  server_name: names.describe("Names of servers"),
  tag: names.describe("Tags, of which a server has at least one"),
  status: listOfWords(shownStatuses).describe(
    "`unobserved` are servers of stale targets; the others are servers of targets that are not",
  ),
  sort: z
    .enum(serverSorts, serverSorts.join(", "))
    .default("status")
    .describe("`status`: the worst first, and of those the latest; `since`: the longest first"),
  descending: flag.describe("Whether the order is reversed"),
  offset: z.coerce
    .number(offsetAllowed)
    .int(offsetAllowed)
    .min(0, offsetAllowed)
    .default(0)
    .describe("How many servers are skipped"),
  limit: limitField,
});

export const searchServers = defineOperation({
  name: "searchServers",
  method: "GET",
  permission: "read",
  path: "/servers/search",
  isLive: true,
  summary: "Servers that match words and filters, in a chosen order, with how many there are",
  request: searchFields,
  response: z.object({
    servers: listed(serverView),
    total: count.describe("How many match, in all pages"),
    counts: z
      .record(z.enum(shownStatuses), count)
      .describe("How many match in each status, whichever statuses are asked for"),
    notes,
  }),
  async handle(context: FleetContext, { region, key, status, sort, descending, ...query }) {
    const { offset, limit } = query;
    const targets = selectTargets(context.targets, { region, key });
    const found = await runInSlices(
      search(
        targets.map(({ state: { snapshot }, withheld: stale }) => ({ snapshot, stale })),
        {
          isWanted: searchFilter(query),
          statuses: new Set(status),
          sort: { by: sort, descending },
          offset,
          limit,
        },
      ),
    );
    return {
      ...found,
      servers: found.servers.flatMap(({ target, ...placed }) => {
        const watched = targets[target];
        return watched ? viewServer(watched, placed) : [];
      }),
      notes: matchNotes(context, { region, key }),
    };
  },
});

function searchFilter({
  q,
  server_name,
  tag,
}: Pick<z.output<typeof searchFields>, "q" | "server_name" | "tag">) {
  const words = q.split(/\s+/).flatMap((word) => (word === "" ? [] : ignoringCase(word)));
  const nameSet = new Set<string | null>(server_name);
  const tagSet = new Set(tag);
  return (server: PlacedServer["server"], sandbox: PlacedServer["sandbox"]): boolean =>
    (nameSet.size === 0 || nameSet.has(server.name)) &&
    (tagSet.size === 0 || server.tags.some((each) => tagSet.has(each))) &&
    words.every(
      (word) =>
        word.test(server.name ?? "") ||
        word.test(server.id) ||
        word.test(sandbox.id) ||
        word.test(server.benchmark ?? "") ||
        server.tags.some((each) => word.test(each)),
    );
}

/** Much faster than lower-casing every text. */
function ignoringCase(word: string): RegExp {
  return new RegExp(RegExp.escape(word), "iu");
}
