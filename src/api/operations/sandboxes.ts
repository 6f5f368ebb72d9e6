import { z } from "zod";
import type { WatchedView } from "../../alerts/target-view.ts";
import { statuses } from "../../fleet/model.ts";
import { pageOfItems, sandboxItself } from "../../fleet/fleet-page.ts";
import { sandboxSorts, searchedSandboxes, searchedServers } from "../../fleet/fleet-search.ts";
import { searchFleet } from "../../fleet/fleet-search.ts";
import { findSandbox, type Sandbox } from "../../fleet/snapshot.ts";
import { noneByStatus } from "../../fleet/tallies.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { runInSlices } from "../../lib/iterables.ts";
import type { FleetContext } from "../context.ts";
import { cursorOf, cursorText, limitField, listed, listOfWords, names } from "../fields.ts";
import { nextField, notes, nullableText, nullableTime, pageOf, sandboxText } from "../fields.ts";
import { targetFields, targetLabels, time } from "../fields.ts";
import { matchNotes } from "../match-notes.ts";
import { defineOperation } from "../operation.ts";
import { timeText } from "../view-fields.ts";
import { isInServer, oneOfSome, searchFields, searchResponse } from "./search-servers.ts";
import { serverFilter, sortField, wordsOf } from "./search-servers.ts";
import { compareTargets, countsField, selectTargets, serverView, viewServer } from "./targets.ts";

export const sandboxView = z.object({
  ...targetLabels,
  sandbox_id: z.string(),
  status: z
    .enum(statuses)
    .describe("Of one that never stated a status: the worst that its servers state"),
  stated_status: z.enum(statuses).nullable().describe("Null: it never stated one"),
  since: time.describe("When this status was first observed"),
  created_at: nullableTime.describe("As the service states it; null: it cannot be read"),
  benchmark: nullableText,
  servers: countsField,
  missing: z.int().min(0).describe("How many complete listings in a row lacked it"),
  stale: z.boolean().describe("Whether its target is stale"),
});
export type SandboxView = z.output<typeof sandboxView>;

const filterFields = {
  server_name: names.describe("Names, of which a server of it has one"),
  tag: names.describe("Tags, of which a server of it has at least one"),
  benchmark: names.describe("Benchmarks of sandboxes"),
};

export const listSandboxes = defineOperation({
  name: "listSandboxes",
  method: "GET",
  permission: "read",
  path: "/sandboxes",
  summary: "The current state of sandboxes, by region, key and id",
  request: z.strictObject({
    ...targetFields,
    sandbox: sandboxText.optional().describe("A sandbox's id, or a prefix of one"),
    ...filterFields,
    status: listOfWords(statuses),
    limit: limitField,
    cursor: cursorOf(z.tuple([z.string(), z.string(), z.string()])),
  }),
  response: z.object({ sandboxes: listed(sandboxView), next: nextField, notes }),
  async handle(context: FleetContext, { limit: size, cursor, region, key, status, ...filter }) {
    const [lastRegion = "", lastKey = "", sandboxId = ""] = cursor ?? [];
    const hasStatus = oneOfSome(status);
    const isChosen = sandboxFilter(filter);
    const found: SandboxView[] = [];
    for (const watched of selectTargets(context.targets, { region, key })) {
      const last = { region: lastRegion, key: lastKey };
      const order = cursor ? compareTargets(watched.target, last) : 1;
      if (order < 0) continue;
      const slices = pageOfItems(watched.state.snapshot, sandboxItself, {
        after: order === 0 ? { sandboxId, id: sandboxId } : null,
        // One more shows whether there is a next page.
        limit: size + 1 - found.length,
        isWanted: (sandbox) => hasStatus(sandbox.status) && isChosen(sandbox),
      });
      for (const { sandbox } of await runInSlices(slices)) {
        found.push(viewSandbox(watched, sandbox));
      }
      if (found.length > size) break;
    }
    const { page, next } = pageOf(found, size, (last) =>
      cursorText([last.region, last.key, last.sandbox_id]),
    );
    return { sandboxes: page, next, notes: matchNotes(context, { region, key }) };
  },
});

export const searchSandboxes = defineOperation({
  name: "searchSandboxes",
  method: "GET",
  permission: "read",
  path: "/sandboxes/search",
  summary: "Sandboxes that match words and filters, in a chosen order, with how many there are",
  request: z.strictObject({
    ...searchFields,
    ...filterFields,
    sort: sortField(sandboxSorts).default("status"),
  }),
  response: z.object({ sandboxes: listed(sandboxView), ...searchResponse }),
  async handle(context: FleetContext, { region, key, status, sort, descending, ...query }) {
    const { q, offset, limit, ...filter } = query;
    const targets = selectTargets(context.targets, { region, key });
    const words = wordsOf(q);
    const isChosen = sandboxFilter(filter);
    const { items, ...found } = await runInSlices(
      searchFleet(
        targets.map(({ state: { snapshot }, withheld: stale }) => ({ snapshot, stale })),
        searchedSandboxes,
        {
          isWanted: (sandbox) =>
            isChosen(sandbox) && words.every((word) => isInSandbox(word, sandbox)),
          statuses: new Set(status),
          sort: { by: sort, descending },
          offset,
          limit,
        },
      ),
    );
    return {
      ...found,
      sandboxes: items.flatMap(({ target, sandbox }) => {
        const watched = targets[target];
        return watched ? viewSandbox(watched, sandbox) : [];
      }),
      notes: matchNotes(context, { region, key }),
    };
  },
});

export const showSandbox = defineOperation({
  name: "showSandbox",
  method: "GET",
  permission: "read",
  path: "/sandboxes/show",
  summary: "A sandbox with its servers, the worst first",
  request: z.strictObject({
    ...targetLabels,
    sandbox: z.string().describe("Its whole id"),
    limit: limitField,
  }),
  response: z.object({
    sandbox: sandboxView,
    servers: listed(serverView).describe("`servers` of the sandbox says how many there are"),
  }),
  refusals: [404],
  async handle(context: FleetContext, { region, key, sandbox: id, limit }) {
    const watched = context.targets.find(
      ({ target }) => target.region === region && target.key === key,
    );
    const sandbox = watched && findSandbox(watched.state.snapshot, id);
    if (!watched || !sandbox) {
      const message = `${region}/${key} lists no sandbox ${JSON.stringify(id)} now. List sandboxes to see their ids.`;
      throw new RefusedError("not_found", message);
    }
    const { items } = await runInSlices(
      searchFleet([{ snapshot: { sandboxes: [sandbox] }, stale: false }], searchedServers, {
        isWanted: () => true,
        statuses: new Set(),
        sort: { by: "status", descending: false },
        offset: 0,
        limit,
      }),
    );
    return {
      sandbox: viewSandbox(watched, sandbox),
      servers: items.map(({ item: server }) => viewServer(watched, { sandbox, server })),
    };
  },
});

export function viewSandbox(
  { target, withheld: stale }: Pick<WatchedView, "target" | "withheld">,
  sandbox: Sandbox,
): SandboxView {
  const { id, status, statedStatus, since, createdAt, benchmark, servers, missing } = sandbox;
  const counts = { ...noneByStatus };
  for (const server of servers) counts[server.status] += 1;
  return {
    ...target,
    sandbox_id: id,
    status,
    stated_status: statedStatus,
    since: timeText(since.atMs),
    created_at: timeText(createdAt),
    benchmark,
    servers: counts,
    missing,
    stale,
  };
}

interface SandboxFilter {
  readonly sandbox?: string | undefined;
  readonly server_name: readonly string[];
  readonly tag: readonly string[];
  readonly benchmark: readonly string[];
}

function sandboxFilter({ sandbox: prefix = "", server_name, tag, benchmark }: SandboxFilter) {
  const hasBenchmark = oneOfSome(benchmark);
  const hasServer = server_name.length + tag.length > 0;
  const isChosen = serverFilter(server_name, tag);
  return (sandbox: Sandbox): boolean =>
    sandbox.id.startsWith(prefix) &&
    hasBenchmark(sandbox.benchmark) &&
    (!hasServer || sandbox.servers.some(isChosen));
}

function isInSandbox(word: RegExp, { id, benchmark, servers }: Sandbox): boolean {
  return (
    word.test(id) ||
    word.test(benchmark ?? "") ||
    servers.some((server) => isInServer(word, server))
  );
}
