import { z } from "zod";
import { searchFleet, searchedServers, serverSorts } from "../../fleet/fleet-search.ts";
import { shownStatuses } from "../../fleet/fleet-search.ts";
import type { Sandbox, Server } from "../../fleet/snapshot.ts";
import { runInSlices } from "../../lib/iterables.ts";
import type { FleetContext } from "../context.ts";
import { flag, limitField, listed, listOfWords, names, notes, targetFields } from "../fields.ts";
import { matchNotes } from "../match-notes.ts";
import { defineOperation } from "../operation.ts";
import { selectTargets, serverView, viewServer } from "./targets.ts";

const count = z.int().min(0);
const offsetAllowed = "a whole number of at least 0";

/** What a search of servers or sandboxes has in common. */
export const searchFields = {
  q: z
    .string()
    .max(1_000, "a text of at most 1000 characters")
    .default("")
    .describe("Words, each of which is a part of the name, an id, a tag or the benchmark"),
  ...targetFields,
  server_name: names.describe("Names of servers"),
  tag: names.describe("Tags, of which a server has at least one"),
  benchmark: names.describe("Benchmarks"),
  status: listOfWords(shownStatuses).describe(
    "`unobserved` is what belongs to stale targets; the others are of targets that are not",
  ),
  descending: flag.describe("Whether the order is reversed"),
  offset: z.coerce
    .number(offsetAllowed)
    .int(offsetAllowed)
    .min(0, offsetAllowed)
    .default(0)
    .describe("How many are skipped"),
  limit: limitField,
};

export function sortField<const Sorts extends readonly [string, ...string[]]>(sorts: Sorts) {
  return z
    .enum(sorts, sorts.join(", "))
    .describe("`status`: the worst first, and of those the latest; `since`: the longest first");
}

export const searchResponse = {
  total: count.describe("How many match, in all pages"),
  counts: z
    .record(z.enum(shownStatuses), count)
    .describe("How many match in each status, whichever statuses are asked for"),
  notes,
};

export const searchServers = defineOperation({
  name: "searchServers",
  method: "GET",
  permission: "read",
  path: "/servers/search",
  summary: "Servers that match words and filters, in a chosen order, with how many there are",
  request: z.strictObject({ ...searchFields, sort: sortField(serverSorts).default("status") }),
  response: z.object({ servers: listed(serverView), ...searchResponse }),
  async handle(context: FleetContext, { region, key, status, sort, descending, ...query }) {
    const { offset, limit } = query;
    const targets = selectTargets(context.targets, { region, key });
    const { items, ...found } = await runInSlices(
      searchFleet(
        targets.map(({ state: { snapshot }, withheld: stale }) => ({ snapshot, stale })),
        searchedServers,
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
      servers: items.flatMap(({ target, sandbox, item: server }) => {
        const watched = targets[target];
        return watched ? viewServer(watched, { sandbox, server }) : [];
      }),
      notes: matchNotes(context, { region, key }),
    };
  },
});

interface TextFilter {
  readonly q: string;
  readonly server_name: readonly string[];
  readonly tag: readonly string[];
  readonly benchmark: readonly string[];
}

function searchFilter({ q, server_name, tag, benchmark }: TextFilter) {
  const words = wordsOf(q);
  const isChosen = serverFilter(server_name, tag);
  const hasBenchmark = oneOfSome(benchmark);
  return (server: Server, sandbox: Sandbox): boolean =>
    isChosen(server) &&
    hasBenchmark(server.benchmark) &&
    words.every((word) => isInServer(word, server) || word.test(sandbox.id));
}

/** Whether a server has one of these names, and one of these tags. Without any: every one. */
export function serverFilter(serverNames: readonly string[], tags: readonly string[]) {
  const hasName = oneOfSome(serverNames);
  const tagSet = new Set(tags);
  return ({ name, tags: own }: Server): boolean =>
    hasName(name) && (tagSet.size === 0 || own.some((each) => tagSet.has(each)));
}

/** Whether a text is one of these. Without any: every text is. */
export function oneOfSome(wanted: readonly string[]) {
  const set = new Set<string | null>(wanted);
  return (text: string | null): boolean => set.size === 0 || set.has(text);
}

/** The words of a search, in any case. Much faster than lower-casing every text. */
export function wordsOf(q: string): readonly RegExp[] {
  return q
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => new RegExp(RegExp.escape(word), "iu"));
}

export function isInServer(word: RegExp, { id, name, benchmark, tags }: Server): boolean {
  return (
    word.test(name ?? "") ||
    word.test(id) ||
    word.test(benchmark ?? "") ||
    tags.some((each) => word.test(each))
  );
}
