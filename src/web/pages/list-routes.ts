import type { FastifyInstance } from "fastify";
import type { WatchedView } from "../../alerts/target-view.ts";
import { searchSandboxes } from "../../api/operations/sandboxes.ts";
import { searchServers } from "../../api/operations/search-servers.ts";
import type { ApiDeps } from "../api/api.ts";
import { rowsOfPage, type FleetList, type KnownNames } from "./fleet-list.ts";
import { pageRoutes, shareRenderings } from "./page-route.ts";
import { renderSandboxes } from "./sandboxes.ts";
import { readListQuery, type ListKind } from "./servers-address.ts";
import { renderServers } from "./servers.ts";

/** A search of servers leads to this many sandboxes. */
const mostMatching = 3;

/** The lists of servers and of sandboxes. */
export function addListPages(
  server: FastifyInstance,
  {
    call,
    clock,
    targets,
  }: Pick<ApiDeps, "call" | "clock"> & { readonly targets: readonly WatchedView[] },
): void {
  const addPage = pageRoutes(server, clock);
  const share = shareRenderings();

  const read = (kind: ListKind, asked: unknown) => {
    const known = knownNames(targets);
    const { query, remarks } = readListQuery(kind, asked, known);
    const { name, sort, page, ...filter } = query;
    const request = { ...filter, server_name: name };
    const order = {
      sort: sort.by,
      descending: sort.descending,
      offset: (page - 1) * rowsOfPage,
      limit: rowsOfPage,
    };
    return { list: { kind, query, known, remarks }, request, order };
  };

  addPage("/servers", ({ query, url }, at) =>
    share(url, async () => {
      const { list, request, order } = read("servers", query);
      const found = searchServers.response.parse(
        await call(searchServers, { ...request, ...order }),
      );
      const matching = searchSandboxes.response.parse(
        await call(searchSandboxes, { ...request, limit: mostMatching }),
      );
      const shown: FleetList = { ...list, found };
      return renderServers(shown, found.servers, matching, { ...at, nowMs: clock.now().utcMs });
    }),
  );

  addPage("/sandboxes", ({ query, url }, at) =>
    share(url, async () => {
      const { list, request, order } = read("sandboxes", query);
      const found = searchSandboxes.response.parse(
        await call(searchSandboxes, { ...request, ...order }),
      );
      const shown: FleetList = { ...list, found };
      return renderSandboxes(shown, found.sandboxes, { ...at, nowMs: clock.now().utcMs });
    }),
  );
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
