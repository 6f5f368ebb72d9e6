import { z } from "zod";
import type { WatchedView } from "../alerts/target-view.ts";
import { pageOfItems, type FleetItem, type ItemsOf, type PlacedItem } from "../fleet/fleet-page.ts";
import { searchFleet, shownStatuses, type Searched } from "../fleet/fleet-search.ts";
import { statuses, type Target } from "../fleet/model.ts";
import type { Sandbox, Server } from "../fleet/snapshot.ts";
import { runInSlices } from "../lib/iterables.ts";
import { cursorOf, cursorText, flag, limitField, listOfWords, names, notes } from "./fields.ts";
import { pageOf, targetFields } from "./fields.ts";

/** What lists of servers and of sandboxes have in common. */

const count = z.int().min(0);

export const countsField = z
  .record(z.enum(statuses), count)
  .describe("How many were last observed in each status, including missing ones");

const offsetAllowed = "a whole number of at least 0";

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

interface ChosenTargets {
  readonly region: readonly string[];
  readonly key: readonly string[];
}

/** The chosen targets, by region and key. An empty list chooses all. */
export function selectTargets(
  targets: readonly WatchedView[],
  { region, key }: ChosenTargets,
): readonly WatchedView[] {
  return targets
    .filter(
      ({ target }) =>
        (region.length === 0 || region.includes(target.region)) &&
        (key.length === 0 || key.includes(target.key)),
    )
    .toSorted((a, b) => compareTargets(a.target, b.target));
}

export function compareTargets(a: Target, b: Target): number {
  if (a.region !== b.region) return a.region < b.region ? -1 : 1;
  return a.key === b.key ? 0 : a.key < b.key ? -1 : 1;
}

/** The region, the key, the sandbox and the id of the last item of a page. */
export const fleetCursor = cursorOf(z.tuple([z.string(), z.string(), z.string(), z.string()]));

interface FleetPageQuery extends ChosenTargets {
  readonly limit: number;
  readonly cursor?: z.output<typeof fleetCursor>;
}

type IsWanted<Each extends FleetItem> = (item: Each, sandbox: Sandbox) => boolean;

/** A page of the servers or sandboxes of chosen targets, by region, key and ids. */
export async function pageOfFleet<Each extends FleetItem>(
  targets: readonly WatchedView[],
  itemsOf: ItemsOf<Each>,
  { limit, cursor, ...chosen }: FleetPageQuery,
  isWanted: IsWanted<Each>,
) {
  const [region = "", key = "", sandboxId = "", id = ""] = cursor ?? [];
  const found: (PlacedItem<Each> & { readonly watched: WatchedView })[] = [];
  for (const watched of selectTargets(targets, chosen)) {
    const order = cursor ? compareTargets(watched.target, { region, key }) : 1;
    if (order < 0) continue;
    const slices = pageOfItems(watched.state.snapshot, itemsOf, {
      after: order === 0 ? { sandboxId, id } : null,
      // One more shows whether there is a next page.
      limit: limit + 1 - found.length,
      isWanted,
    });
    for (const placed of await runInSlices(slices)) found.push({ watched, ...placed });
    if (found.length > limit) break;
  }
  return pageOf(found, limit, ({ watched: { target }, sandbox, item }) =>
    cursorText([target.region, target.key, sandbox.id, item.id]),
  );
}

interface FleetSearchQuery<Sort extends string>
  extends
    ChosenTargets,
    Pick<z.output<z.ZodObject<typeof searchFields>>, "status" | "descending" | "offset" | "limit"> {
  readonly sort: Sort;
}

/** Servers or sandboxes of chosen targets in a chosen order, each with its target. */
export async function searchTargets<Each extends FleetItem, Sort extends string>(
  all: readonly WatchedView[],
  searched: Searched<Each, Sort>,
  { status, sort: by, descending, offset, limit, ...chosen }: FleetSearchQuery<Sort>,
  isWanted: IsWanted<Each>,
) {
  const targets = selectTargets(all, chosen);
  const { items, ...found } = await runInSlices(
    searchFleet(
      targets.map(({ state: { snapshot }, withheld: stale }) => ({ snapshot, stale })),
      searched,
      { isWanted, statuses: new Set(status), sort: { by, descending }, offset, limit },
    ),
  );
  const placed = items.flatMap(({ target, sandbox, item }) => {
    const watched = targets[target];
    return watched ? [{ watched, sandbox, item }] : [];
  });
  return { found, items: placed };
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
