import type { FastifyInstance } from "fastify";
import type { WatchedView } from "../../alerts/target-view.ts";
import { searchSandboxes } from "../../api/operations/sandboxes.ts";
import { searchServers } from "../../api/operations/search-servers.ts";
import { sandboxSorts, serverSorts } from "../../fleet/fleet-search.ts";
import { rowsOfPage, type KnownNames } from "./fleet-list.ts";
import { pageRoutes, type PageDeps } from "./page-route.ts";
import { renderSandboxes } from "./sandboxes.ts";
import { readListQuery, type ListKind } from "./servers-address.ts";
import { renderServers } from "./servers.ts";

/** A search of servers leads to this many sandboxes. */
const mostMatching = 3;

interface ListDeps extends PageDeps {
  readonly targets: readonly WatchedView[];
}

/** The lists of servers and of sandboxes. */
export function addListPages(server: FastifyInstance, { call, clock, targets }: ListDeps): void {
  const { addSharedPage } = pageRoutes(server, clock);

  const read = <By extends string>(kind: ListKind, sorts: readonly By[], asked: unknown) => {
    const known = knownNames(targets);
    const { query, remarks } = readListQuery(kind, asked, known);
    const { name, sort, page, ...filter } = query;
    const request = { ...filter, server_name: name };
    const order = {
      sort: sorts.find((by) => by === sort.by),
      descending: sort.descending,
      offset: (page - 1) * rowsOfPage,
      limit: rowsOfPage,
    };
    return { list: { kind, query, known, remarks }, request, order };
  };

  addSharedPage("/servers", async ({ query }, at) => {
    const { list, request, order } = read("servers", serverSorts, query);
    const found = await call(searchServers, { ...request, ...order });
    const matching = await call(searchSandboxes, { ...request, limit: mostMatching });
    return renderServers({ ...list, found }, found.servers, matching, at);
  });

  addSharedPage("/sandboxes", async ({ query }, at) => {
    const { list, request, order } = read("sandboxes", sandboxSorts, query);
    const found = await call(searchSandboxes, { ...request, ...order });
    return renderSandboxes({ ...list, found }, found.sandboxes, at);
  });
}

/** Names of few targets: nobody looks through more. */
const mostNamedTargets = 200;

function knownNames(targets: readonly WatchedView[]): KnownNames {
  const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted();
  return {
    region: sorted(targets.map(({ target }) => target.region)),
    key: sorted(targets.map(({ target }) => target.key)),
    name: sorted(
      targets
        .slice(0, mostNamedTargets)
        .flatMap(({ state }) => [...state.snapshot.tallies.names.keys()]),
    )
      .filter((name) => name !== "")
      .slice(0, mostNamedTargets),
  };
}
