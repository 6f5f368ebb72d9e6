import { z } from "zod";
import type { WatchedView } from "../../alerts/target-view.ts";
import { statuses } from "../../fleet/model.ts";
import { sandboxItself } from "../../fleet/fleet-page.ts";
import { sandboxSorts, searchedSandboxes, searchedServers } from "../../fleet/fleet-search.ts";
import { searchFleet } from "../../fleet/fleet-search.ts";
import { findSandbox, type Sandbox } from "../../fleet/snapshot.ts";
import { noneByStatus } from "../../fleet/tallies.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { runInSlices } from "../../lib/iterables.ts";
import type { FleetContext, Needs } from "../context.ts";
import { limitField, listed, listOfWords, names, nextField, notes } from "../fields.ts";
import { nullableText, nullableTime, sandboxText } from "../fields.ts";
import { targetFields, targetLabels, time } from "../fields.ts";
import { countsField, fleetCursor, isInServer, oneOfSome, pageOfFleet } from "../fleet-lists.ts";
import { searchFields, searchResponse, searchTargets, serverFilter } from "../fleet-lists.ts";
import { sortField, wordsOf } from "../fleet-lists.ts";
import { matchNotes } from "../match-notes.ts";
import { defineQuery } from "../operation.ts";
import { timeText } from "../view-fields.ts";
import { serverView, viewServer } from "./targets.ts";

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

export const listSandboxes = defineQuery({
  name: "listSandboxes",
  path: "/sandboxes",
  summary: "The current state of sandboxes, by region, key and id",
  request: z.strictObject({
    ...targetFields,
    sandbox: sandboxText.optional().describe("A sandbox's id, or a prefix of one"),
    ...filterFields,
    status: listOfWords(statuses),
    limit: limitField,
    cursor: fleetCursor,
  }),
  response: z.object({ sandboxes: listed(sandboxView), next: nextField, notes }),
  async handle(context: FleetContext, { region, key, limit, cursor, status, ...filter }) {
    const hasStatus = oneOfSome(status);
    const isChosen = sandboxFilter(filter);
    const query = { region, key, limit, cursor };
    const { page, next } = await pageOfFleet(
      context.targets,
      sandboxItself,
      query,
      (sandbox) => hasStatus(sandbox.status) && isChosen(sandbox),
    );
    return { sandboxes: page.map(viewSandbox), next, notes: matchNotes(context, { region, key }) };
  },
});

export const searchSandboxes = defineQuery({
  name: "searchSandboxes",
  path: "/sandboxes/search",
  summary: "Sandboxes that match words and filters, in a chosen order, with how many there are",
  request: z.strictObject({
    ...searchFields,
    ...filterFields,
    sort: sortField(sandboxSorts).default("status"),
  }),
  response: z.object({ sandboxes: listed(sandboxView), ...searchResponse }),
  async handle(context: FleetContext, { q, server_name, tag, benchmark, ...query }) {
    const { region, key } = query;
    const words = wordsOf(q);
    const isChosen = sandboxFilter({ server_name, tag, benchmark });
    const { found, items } = await searchTargets(
      context.targets,
      searchedSandboxes,
      query,
      (sandbox) => isChosen(sandbox) && words.every((word) => isInSandbox(word, sandbox)),
    );
    return {
      ...found,
      sandboxes: items.map(viewSandbox),
      notes: matchNotes(context, { region, key }),
    };
  },
});

export const showSandbox = defineQuery({
  name: "showSandbox",
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
  async handle({ targets }: Needs<"targets">, { region, key, sandbox: id, limit }) {
    const watched = targets.find(({ target }) => target.region === region && target.key === key);
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
      sandbox: viewSandbox({ watched, sandbox }),
      servers: items.map(({ item }) => viewServer({ watched, sandbox, item })),
    };
  },
});

function viewSandbox({
  watched: { target, withheld: stale },
  sandbox,
}: {
  readonly watched: Pick<WatchedView, "target" | "withheld">;
  readonly sandbox: Sandbox;
}): SandboxView {
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
