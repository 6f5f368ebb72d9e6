import type { FastifyInstance } from "fastify";
import { allows } from "../../lib/access.ts";
import { runInSlices } from "../../lib/run-in-slices.ts";
import type { ApiDeps } from "../api/api.ts";
import type { Html } from "../html.ts";
import type { PageAt } from "./layout.ts";
import { renderOverview, type StatusView } from "./overview.ts";
import { createServersCard } from "./servers-card.ts";
import { pageRoutes, shareReads, shareRenderings } from "./page-route.ts";

interface OverviewDeps extends Pick<ApiDeps, "call" | "clock"> {
  readonly status: () => Promise<StatusView>;
}

/** A part of the overview that other pages are about. */
type OverviewCard = (query: unknown, at: PageAt) => Promise<Html>;

export function addOverview(
  server: FastifyInstance,
  deps: OverviewDeps,
  cards: readonly OverviewCard[] = [],
): void {
  const { clock } = deps;
  const share = shareRenderings();
  // These are the same whatever an address says.
  const readStatus = shareReads(deps.status);
  const serversCard = createServersCard(deps);
  const readServers = shareReads(() => serversCard(clock.now().utcMs));
  pageRoutes(server, clock)("/", ({ identity, query, url }, { root, zone }) => {
    const mayAct = identity !== null && allows(identity.role, "act");
    return share(`${mayAct} ${zone} ${url}`, async () => {
      const at = { root, zone, nowMs: clock.now().utcMs };
      const shown = await Promise.all([...cards.map((card) => card(query, at)), readServers()]);
      return runInSlices(renderOverview(await readStatus(), shown, { mayAct }, at));
    });
  });
}
