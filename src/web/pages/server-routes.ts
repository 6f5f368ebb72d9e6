import type { FastifyInstance, FastifyRequest } from "fastify";
import { listChanges } from "../../api/operations/changes.ts";
import { explainServer } from "../../api/operations/explain.ts";
import { listIncidents } from "../../api/operations/incidents.ts";
import { searchServers } from "../../api/operations/search-servers.ts";
import { showTimeline } from "../../api/operations/show-timeline.ts";
import { listServers } from "../../api/operations/targets.ts";
import type { WatchedView } from "../../alerts/target-view.ts";
import { allows, type Permission } from "../../lib/access.ts";
import type { ApiDeps } from "../api/api.ts";
import { renderServerSilence } from "./action-pages.ts";
import { actorOf } from "./incident-routes.ts";
import { pageRoutes, shareRenderings } from "./page-route.ts";
import { ranges, renderServer, type ServerPlace } from "./server.ts";
import { readServersQuery } from "./servers-address.ts";
import { renderServers, rowsOfPage, type KnownNames, type ServersView } from "./servers.ts";

const mostEvents = 100;
const mostIncidents = 10;

/** The list of servers, and the page of each. */
export function addServerPages(
  server: FastifyInstance,
  {
    call,
    clock,
    targets,
  }: Pick<ApiDeps, "call" | "clock"> & { readonly targets: readonly WatchedView[] },
): void {
  const addPage = pageRoutes(server, clock);
  const share = shareRenderings();
  const now = () => clock.now().utcMs;

  const readServers = async (asked: unknown): Promise<ServersView> => {
    const known = knownNames(targets);
    const { query, remarks } = readServersQuery(asked, known);
    const { name, sort, page, ...filter } = query;
    const found = searchServers.response.parse(
      await call(searchServers, {
        ...filter,
        server_name: name,
        sort: sort.by,
        descending: sort.descending,
        offset: (page - 1) * rowsOfPage,
        limit: rowsOfPage,
      }),
    );
    return { query, found, known, remarks };
  };

  const readServer = async ({ range: wanted = "24h", before, ...asked }: Texts) => {
    const range = ranges.find((each) => each === wanted) ?? "24h";
    const remarks =
      range === wanted ? [] : [`There is no range ${JSON.stringify(wanted)}: this is 24h.`];
    const explanation = explainServer.response.parse(
      await call(explainServer, { server: asked["server"] ?? "", limit: mostEvents, before }),
    );
    const place = await findPlace(asked, explanation);
    const { region, key, sandbox_id: sandbox, server_id: id } = place;
    const one = { region: [region], key: [key], server: id };
    const { servers } = listServers.response.parse(
      await call(listServers, { ...one, sandbox, limit: 1_000 }),
    );
    const present = servers.find((each) => each.sandbox_id === sandbox && each.server_id === id);
    const found = listIncidents.response.parse(
      await call(listIncidents, { ...one, limit: mostIncidents }),
    );
    const incidents = found.incidents.filter(({ server_id }) => server_id === id);
    const timeline = showTimeline.response.parse(
      await call(showTimeline, { region, key, sandbox, server: id, from: range }),
    );
    return { place, explanation, present, range, timeline, incidents, remarks };
  };

  addPage("/servers", ({ query, url }, at) =>
    share(url, async () => renderServers(await readServers(query), { ...at, nowMs: now() })),
  );

  addPage("/server", (request, at) => {
    const mayAct = may(request, "act");
    const mayCall = may(request, "call");
    return share(`${mayAct} ${mayCall} ${request.url}`, async () => {
      const view = await readServer(textsOf(request.query));
      return renderServer({ ...view, mayAct, mayCall }, { ...at, nowMs: now() });
    });
  });

  addPage("/server/silence", (request, at) => {
    const { region = "", key = "", server: id = "" } = textsOf(request.query);
    return renderServerSilence({ region, key, server_id: id }, actorOf(request), at);
  });

  /** Where the address says, or where it is listed, or where it was last. */
  const findPlace = async (
    { region, key, sandbox }: Texts,
    { server_id, listed }: Pick<Explanation, "server_id" | "listed">,
  ): Promise<ServerPlace> => {
    if (region !== undefined && key !== undefined && sandbox !== undefined) {
      return { region, key, sandbox_id: sandbox, server_id };
    }
    const [first] = listed;
    if (first) return { ...first, server_id };
    const { changes } = listChanges.response.parse(
      await call(listChanges, { server: server_id, limit: 1_000 }),
    );
    const last = changes.find((change) => change.server_id === server_id);
    return { region: "", key: "", sandbox_id: "", ...last, server_id };
  };
}

type Explanation = ReturnType<typeof explainServer.response.parse>;

type Texts = Readonly<Record<string, string | undefined>>;

function textsOf(query: unknown): Texts {
  return Object.fromEntries(
    Object.entries(Object(query)).map(([name, value]) => [name, String([value].flat()[0])]),
  );
}

function may({ identity }: FastifyRequest, permission: Permission): boolean {
  return identity !== null && allows(identity.role, permission);
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
