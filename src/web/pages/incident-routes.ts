import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { showSilence } from "../../api/operations/change-silence.ts";
import { listIncidents } from "../../api/operations/incidents.ts";
import { showIncident } from "../../api/operations/show-incident.ts";
import { allows } from "../../lib/access.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import type { ApiDeps } from "../api/api.ts";
import { renderAcknowledge, renderAcknowledgeAll } from "./action-pages.ts";
import { renderSilence, renderSilenceAll, type Actor } from "./action-pages.ts";
import { renderIncident, renderIncidents } from "./incident-pages.ts";
import type { Selection } from "./incident-pages.ts";
import { readLabels } from "./label-filter.ts";
import { pageRoutes } from "./page-route.ts";
import { renderChangeSilence, renderEndSilence, renderSilencePage } from "./undo-pages.ts";
import { renderUnacknowledge, renderUnacknowledgeAll } from "./undo-pages.ts";

const mostRows = 200;
const mostResolved = 20;

/** As the configuration allows them. What is no name could be read as another option of a command that a page shows. */
const name = z.stringFormat("name", /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,62}$/).exactOptional();
const selectionSchema = z.strictObject({ rule: name, region: name, key: name });

/** Pages that messages link to. They only read: what they offer, a script posts to the API. */
export function addIncidentPages(
  server: FastifyInstance,
  { call, clock }: Pick<ApiDeps, "call" | "clock">,
): void {
  const find = async (id: string) => showIncident.response.parse(await call(showIncident, { id }));
  const list = async (
    selection: Selection & { readonly label?: readonly string[] },
    state: readonly string[],
    limit = mostRows,
  ) => {
    const request = { ...selection, state, limit };
    const { incidents, next } = listIncidents.response.parse(await call(listIncidents, request));
    return { incidents, hasMore: next !== null };
  };
  const addPage = pageRoutes(server, clock);

  addPage("/incidents", async ({ query }, at) => {
    const label = readLabels(query);
    const { label: _, ...named }: Readonly<Record<string, unknown>> = Object(query);
    const selection = readSelection(named);
    const asked = { ...selection, label };
    const { incidents: open, hasMore } = await list(asked, ["firing", "pending"]);
    const { incidents: resolved } = await list(asked, ["resolved"], mostResolved);
    // What one of a selection is silenced by, silences most likely all of it.
    const muted = Object.keys(selection).length > 0 && open.find((incident) => incident.muted);
    const { silences } = muted ? await find(muted.id) : { silences: [] };
    return renderIncidents(selection, label, { open, hasMore, resolved, silences }, at);
  });
  addPage("/incidents/acknowledge", async (request, at) => {
    const selection = readSelection(request.query);
    const { incidents, hasMore } = await list(selection, ["firing"]);
    return renderAcknowledgeAll(selection, incidents, hasMore, actorOf(request), at);
  });
  addPage("/incidents/silence", (request, at) => {
    const selection = readSelection(request.query);
    if (Object.keys(selection).length === 0) throw noSelection();
    return renderSilenceAll(selection, actorOf(request), at);
  });
  addPage("/incidents/unacknowledge", async (request, at) => {
    const selection = readSelection(request.query);
    const { incidents } = await list(selection, ["firing"]);
    return renderUnacknowledgeAll(selection, incidents, actorOf(request), at);
  });
  addPage("/incidents/:id", async (request, at) => renderIncident(await find(idOf(request)), at));
  addPage("/incidents/:id/acknowledge", async (request, at) =>
    renderAcknowledge(await find(idOf(request)), actorOf(request), at),
  );
  addPage("/incidents/:id/unacknowledge", async (request, at) =>
    renderUnacknowledge(await find(idOf(request)), actorOf(request), at),
  );
  addPage("/incidents/:id/silence", async (request, at) =>
    renderSilence(await find(idOf(request)), actorOf(request), at),
  );

  const findSilence = async (request: FastifyRequest) =>
    showSilence.response.parse(await call(showSilence, { id: idOf(request) }));
  addPage("/silences/:id", async (request, at) =>
    renderSilencePage(await findSilence(request), at),
  );
  addPage("/silences/:id/change", async (request, at) =>
    renderChangeSilence(await findSilence(request), actorOf(request), at),
  );
  addPage("/silences/:id/end", async (request, at) =>
    renderEndSilence(await findSilence(request), actorOf(request), at),
  );
}

function idOf({ params }: FastifyRequest): string {
  return String(Object(params).id);
}

function readSelection(query: unknown): Selection {
  const read = selectionSchema.safeParse(query);
  if (read.success) return read.data;
  throw noSelection();
}

function noSelection(): RefusedError {
  return new RefusedError("invalid", "Incidents are selected by rule, region or key, a name each.");
}

/** A browser that has sent no credentials asks for them when the API refuses what it posts. */
export function actorOf({ identity }: FastifyRequest): Actor {
  if (!identity || (identity.name === null && allows(identity.role, "act"))) {
    return { kind: "unnamed" };
  }
  if (identity.name === null || allows(identity.role, "act")) return { kind: "named" };
  const reason = `${identity.name} has the role ${identity.role}, which does not allow this. The roles operator and admin do.`;
  return { kind: "refused", reason };
}
