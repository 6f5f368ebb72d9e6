import type { FastifyInstance, FastifyRequest } from "fastify";
import { listChanges } from "../../api/operations/changes.ts";
import { explainServer } from "../../api/operations/explain.ts";
import { explainSandbox } from "../../api/operations/explain-sandbox.ts";
import { listIncidents } from "../../api/operations/incidents.ts";
import { showSandbox } from "../../api/operations/sandboxes.ts";
import { listSilences } from "../../api/operations/silences.ts";
import { showSandboxTimeline, showTimeline } from "../../api/operations/show-timeline.ts";
import { listServers } from "../../api/operations/targets.ts";
import { allows } from "../../lib/access.ts";
import { readRange } from "./history-cards.ts";
import { pageRoutes, textsOf, type PageDeps } from "./page-route.ts";
import { renderSandbox } from "./sandbox.ts";
import { renderServer, type ServerPlace } from "./server.ts";
import type { SandboxPlace } from "./servers-address.ts";

const mostEvents = 100;
const mostOpen = 1_000;
const mostResolved = 10;

/** The pages of each server and sandbox. */
export function addServerPages(server: FastifyInstance, { call, clock }: PageDeps): void {
  const { addSharedPage } = pageRoutes(server, clock);

  /** What concerns one subject alone: an id may be the beginning of another one. */
  const readAbout = async (
    { region, key }: Pick<SandboxPlace, "region" | "key">,
    field: "server_id" | "sandbox_id",
    id: string,
  ) => {
    const list = async (state: readonly string[], limit: number) => {
      const of = field === "server_id" ? { server: id } : { sandbox: id };
      const request = { region: [region], key: [key], ...of, state, limit };
      return (await call(listIncidents, request)).incidents;
    };
    const open = await list(["firing", "pending"], mostOpen);
    const resolved = await list(["resolved"], mostResolved);
    const { silences } = await call(listSilences, { limit: 1_000 });
    return {
      incidents: [...open, ...resolved].filter((each) => each[field] === id),
      silences: silences.filter(
        ({ kind, match }) =>
          kind === "silence" &&
          match[field]?.includes(id) &&
          match.region?.includes(region) !== false &&
          match.key?.includes(key) !== false,
      ),
    };
  };

  /** Where the address says, or where it is listed, or where it was last. */
  const findPlace = async <Own extends Pick<ServerPlace, "server_id"> | SandboxId>(
    { region, key, sandbox }: Texts,
    own: Own,
    [listed]: readonly SandboxPlace[],
    of: { readonly server: string } | { readonly sandbox: string },
  ): Promise<SandboxPlace & Own> => {
    if (region !== undefined && key !== undefined && sandbox !== undefined) {
      return { region, key, sandbox_id: sandbox, ...own };
    }
    if (listed) return { ...listed, ...own };
    const { changes } = await call(listChanges, { ...of, limit: 1_000 });
    const isOwn = (change: object) =>
      Object.entries(own).every(([name, id]) => Object(change)[name] === id);
    return { region: "", key: "", sandbox_id: "", ...changes.find(isOwn), ...own };
  };

  const readServer = async ({ range: wanted, before, ...asked }: Texts) => {
    const { range, remarks } = readRange(wanted);
    const request = { server: asked["server"] ?? "", limit: mostEvents, before };
    const explanation = await call(explainServer, request);
    const { server_id: id, listed } = explanation;
    const place = await findPlace(asked, { server_id: id }, listed, { server: id });
    const { region, key, sandbox_id: sandbox } = place;
    const there = { region: [region], key: [key], server: id, sandbox, limit: 1_000 };
    const { servers } = await call(listServers, there);
    const present = servers.find((each) => each.sandbox_id === sandbox && each.server_id === id);
    const timeline = await call(showTimeline, { region, key, sandbox, server: id, from: range });
    const about = await readAbout(place, "server_id", id);
    return { place, explanation, present, range, timeline, ...about, remarks };
  };

  const readSandbox = async ({ range: wanted, before, ...asked }: Texts) => {
    const { range, remarks } = readRange(wanted);
    const request = { sandbox: asked["sandbox"] ?? "", limit: mostEvents, before };
    const explanation = await call(explainSandbox, request);
    const { sandbox_id: sandbox, listed } = explanation;
    const places = listed.map((each) => ({ ...each, sandbox_id: sandbox }));
    const place = await findPlace(asked, { sandbox_id: sandbox }, places, { sandbox });
    const { region, key } = place;
    const isListed = listed.some((each) => each.region === region && each.key === key);
    const { sandbox: present, servers } = isListed
      ? await call(showSandbox, { region, key, sandbox })
      : { sandbox: undefined, servers: [] };
    const timeline = await call(showSandboxTimeline, { region, key, sandbox, from: range });
    const about = await readAbout(place, "sandbox_id", sandbox);
    return { place, explanation, present, servers, range, timeline, ...about, remarks };
  };

  addSharedPage("/server", async (request, at) =>
    renderServer({ ...(await readServer(textsOf(request.query))), ...rightsOf(request) }, at),
  );
  addSharedPage("/sandbox", async (request, at) =>
    renderSandbox({ ...(await readSandbox(textsOf(request.query))), ...rightsOf(request) }, at),
  );
}

type Texts = ReturnType<typeof textsOf>;
type SandboxId = Pick<SandboxPlace, "sandbox_id">;

function rightsOf({ identity }: FastifyRequest) {
  const may = (permission: "act" | "call") =>
    identity !== null && allows(identity.role, permission);
  return { mayAct: may("act"), mayCall: may("call") };
}
