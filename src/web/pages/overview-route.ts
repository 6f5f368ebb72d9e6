import type { FastifyInstance } from "fastify";
import { allows } from "../../lib/access.ts";
import { runInSlices } from "../../lib/iterables.ts";
import { subjectFacts } from "../../alerts/incident.ts";
import type { Html } from "../html.ts";
import { keysWith, readLabels, type LabelledKeys } from "./label-filter.ts";
import type { PageAt } from "./layout.ts";
import { renderOverview, type StatusView } from "./overview.ts";
import { createServersCard } from "./servers-card.ts";
import { pageRoutes, shareReads, type PageDeps } from "./page-route.ts";

interface OverviewDeps extends PageDeps {
  readonly status: () => Promise<StatusView>;
  readonly keys: LabelledKeys;
}

/** What is of some keys, and what is of none. */
function ofKeys(view: StatusView, keys: readonly string[]): StatusView {
  const { targets, probes, incidentsWithoutTarget } = view;
  const isOf = (key: string | null): boolean => key === null || keys.includes(key);
  return {
    ...view,
    targets: targets.filter(({ target }) => isOf(target.key)),
    probes: probes.filter(({ subject }) => isOf(subject.key)),
    incidentsWithoutTarget: incidentsWithoutTarget.filter(({ subject }) =>
      isOf(subjectFacts(null, subject).key),
    ),
  };
}

/** A part of the overview that other pages are about. */
type OverviewCard = (query: unknown, at: PageAt, keys: readonly string[] | null) => Promise<Html>;

export function addOverview(
  server: FastifyInstance,
  deps: OverviewDeps,
  cards: readonly OverviewCard[] = [],
): void {
  const { clock } = deps;
  // These are the same whatever an address says.
  const readStatus = shareReads(deps.status);
  const serversCard = createServersCard(deps);
  const readServers = shareReads(() => serversCard(clock.now().utcMs));
  pageRoutes(server, clock).addSharedPage("/", async ({ identity, query }, at) => {
    const mayAct = identity !== null && allows(identity.role, "act");
    const label = readLabels(query);
    const keys = keysWith(label, deps.keys);
    const servers = keys ? serversCard(at.nowMs, label) : readServers();
    const shown = await Promise.all([...cards.map((card) => card(query, at, keys)), servers]);
    const view = keys ? ofKeys(await readStatus(), keys) : await readStatus();
    return runInSlices(renderOverview(view, shown, { mayAct, label }, at));
  });
}
