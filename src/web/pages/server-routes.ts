import type { FastifyInstance, FastifyRequest } from "fastify";
import { listChanges } from "../../api/operations/changes.ts";
import { explainServer, type ExplanationView } from "../../api/operations/explain.ts";
import { explainSandbox, type SandboxExplanation } from "../../api/operations/explain-sandbox.ts";
import { listIncidents } from "../../api/operations/incidents.ts";
import { showSandbox } from "../../api/operations/sandboxes.ts";
import { listSilences } from "../../api/operations/silences.ts";
import { showSandboxTimeline, showTimeline } from "../../api/operations/show-timeline.ts";
import { listServers } from "../../api/operations/targets.ts";
import { allows, type Permission } from "../../lib/access.ts";
import type { ApiDeps } from "../api/api.ts";
import { renderSandboxAcknowledge, renderSandboxSilence } from "./action-pages.ts";
import { renderSandboxUnacknowledge } from "./undo-pages.ts";
import { renderServerSilence } from "./action-pages.ts";
import { readRange } from "./history-cards.ts";
import { actorOf } from "./incident-routes.ts";
import { pageRoutes, shareRenderings } from "./page-route.ts";
import { renderSandbox } from "./sandbox.ts";
import { renderServer, type ServerPlace } from "./server.ts";
import type { SandboxPlace } from "./servers-address.ts";

const mostEvents = 100;
const mostOpen = 1_000;
const mostResolved = 10;

/** The pages of each server and sandbox. */
export function addServerPages(
  server: FastifyInstance,
  { call, clock }: Pick<ApiDeps, "call" | "clock">,
): void {
  const addPage = pageRoutes(server, clock);
  const share = shareRenderings();
  const now = () => clock.now().utcMs;

  /** The open ones, and those that were resolved last. */
  const readIncidents = async (request: object) => {
    const list = async (state: readonly string[], limit: number) => {
      const found = await call(listIncidents, { ...request, state, limit });
      return listIncidents.response.parse(found).incidents;
    };
    const open = await list(["firing", "pending"], mostOpen);
    return [...open, ...(await list(["resolved"], mostResolved))];
  };

  const readServer = async ({ range: wanted, before, ...asked }: Texts) => {
    const { range, remarks } = readRange(wanted);
    const explanation = explainServer.response.parse(
      await call(explainServer, { server: asked["server"] ?? "", limit: mostEvents, before }),
    );
    const place = await findPlace(call, asked, explanation);
    const { region, key, sandbox_id: sandbox, server_id: id } = place;
    const { servers } = listServers.response.parse(
      await call(listServers, { region: [region], key: [key], server: id, sandbox, limit: 1_000 }),
    );
    const present = servers.find((each) => each.sandbox_id === sandbox && each.server_id === id);
    const found = await readIncidents({ region: [region], key: [key], server: id });
    const incidents = found.filter(({ server_id }) => server_id === id);
    const timeline = showTimeline.response.parse(
      await call(showTimeline, { region, key, sandbox, server: id, from: range }),
    );
    const silences = await silencesOf(call, place, "server_id", id);
    return { place, explanation, present, range, timeline, incidents, silences, remarks };
  };

  const readSandbox = async ({ range: wanted, before, ...asked }: Texts) => {
    const { range, remarks } = readRange(wanted);
    const explanation = explainSandbox.response.parse(
      await call(explainSandbox, { sandbox: asked["sandbox"] ?? "", limit: mostEvents, before }),
    );
    const place = await findSandboxPlace(call, asked, explanation);
    const { region, key, sandbox_id: sandbox } = place;
    const isListed = explanation.listed.some((each) => each.region === region && each.key === key);
    const { sandbox: present, servers } = isListed
      ? showSandbox.response.parse(await call(showSandbox, { region, key, sandbox }))
      : { sandbox: undefined, servers: [] };
    const found = await readIncidents({ region: [region], key: [key], sandbox });
    const incidents = found.filter(({ sandbox_id }) => sandbox_id === sandbox);
    const timeline = showSandboxTimeline.response.parse(
      await call(showSandboxTimeline, { region, key, sandbox, from: range }),
    );
    const silences = await silencesOf(call, place, "sandbox_id", sandbox);
    return { place, explanation, present, servers, range, timeline, incidents, silences, remarks };
  };

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

  addPage("/sandbox", (request, at) => {
    const mayAct = may(request, "act");
    const mayCall = may(request, "call");
    return share(`${mayAct} ${mayCall} ${request.url}`, async () => {
      const view = await readSandbox(textsOf(request.query));
      return renderSandbox({ ...view, mayAct, mayCall }, { ...at, nowMs: now() });
    });
  });

  const firingOf = async ({ region, key, sandbox_id: sandbox }: SandboxPlace) => {
    const query = { region: [region], key: [key], sandbox, state: ["firing"], limit: 1_000 };
    const { incidents } = listIncidents.response.parse(await call(listIncidents, query));
    return incidents.filter(({ sandbox_id }) => sandbox_id === sandbox);
  };
  addPage("/sandbox/acknowledge", async (request, at) => {
    const place = placeOf(request);
    return renderSandboxAcknowledge(place, await firingOf(place), actorOf(request), at);
  });
  addPage("/sandbox/unacknowledge", async (request, at) => {
    const place = placeOf(request);
    return renderSandboxUnacknowledge(place, await firingOf(place), actorOf(request), at);
  });

  addPage("/sandbox/silence", (request, at) =>
    renderSandboxSilence(placeOf(request), actorOf(request), at),
  );
}

/** Where the address says, or where it is listed, or where it was last. */
async function findPlace(
  call: ApiDeps["call"],
  { region, key, sandbox }: Texts,
  { server_id, listed }: Pick<ExplanationView, "server_id" | "listed">,
): Promise<ServerPlace> {
  if (region !== undefined && key !== undefined && sandbox !== undefined) {
    return { region, key, sandbox_id: sandbox, server_id };
  }
  const [first] = listed;
  if (first) return { ...first, server_id };
  const changes = await lastChanges(call, { server: server_id });
  const last = changes.find((change) => change.server_id === server_id);
  return { region: "", key: "", sandbox_id: "", ...last, server_id };
}

async function findSandboxPlace(
  call: ApiDeps["call"],
  { region, key }: Texts,
  { sandbox_id, listed: [first] }: Pick<SandboxExplanation, "sandbox_id" | "listed">,
): Promise<SandboxPlace> {
  if (region !== undefined && key !== undefined) return { region, key, sandbox_id };
  if (first) return { ...first, sandbox_id };
  const changes = await lastChanges(call, { sandbox: sandbox_id });
  const last = changes.find((change) => change.sandbox_id === sandbox_id);
  return { region: "", key: "", ...last, sandbox_id };
}

async function lastChanges(call: ApiDeps["call"], of: object) {
  const found = await call(listChanges, { ...of, limit: 1_000 });
  return listChanges.response.parse(found).changes;
}

/** Those of a subject alone, as its page makes them. */
async function silencesOf(
  call: ApiDeps["call"],
  { region, key }: Pick<SandboxPlace, "region" | "key">,
  name: "server_id" | "sandbox_id",
  id: string,
) {
  const { silences } = listSilences.response.parse(await call(listSilences, { limit: 1_000 }));
  return silences.filter(
    ({ kind, match }) =>
      kind === "silence" &&
      match[name]?.includes(id) &&
      match.region?.includes(region) !== false &&
      match.key?.includes(key) !== false,
  );
}

function placeOf({ query }: FastifyRequest): SandboxPlace {
  const { region = "", key = "", sandbox = "" } = textsOf(query);
  return { region, key, sandbox_id: sandbox };
}

type Texts = Readonly<Record<string, string | undefined>>;

function textsOf(query: unknown): Texts {
  return Object.fromEntries(
    Object.entries(Object(query)).map(([name, value]) => [name, String([value].flat()[0])]),
  );
}

function may({ identity }: FastifyRequest, permission: Permission): boolean {
  return identity !== null && allows(identity.role, permission);
}
