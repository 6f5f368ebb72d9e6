import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { showSilence } from "../../api/operations/change-silence.ts";
import { listIncidents } from "../../api/operations/incidents.ts";
import { showIncident } from "../../api/operations/show-incident.ts";
import { allows } from "../../lib/access.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { ofSandbox, ofSelection, renderAcknowledge, renderAcknowledgeAll } from "./action-pages.ts";
import { renderSilence, renderSilenceAll, type Actor } from "./action-pages.ts";
import { renderIncident, renderIncidents } from "./incident-pages.ts";
import type { Selection } from "./incident-pages.ts";
import { readLabels } from "./label-filter.ts";
import { pageRoutes, textsOf, type PageDeps } from "./page-route.ts";
import type { PageAt } from "./layout.ts";
import { renderChangeSilence, renderEndSilence, renderSilencePage } from "./undo-pages.ts";
import type { Silence } from "./undo-pages.ts";
import { renderUnacknowledge, renderUnacknowledgeAll } from "./undo-pages.ts";

const mostRows = 200;
const mostResolved = 20;
/** Pages that act on incidents count them; no request of the API lists more. */
const mostActedOn = 1_000;

/** As the configuration allows them. What is no name could be read as another option of a command that a page shows. */
const name = z.stringFormat("name", /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,62}$/).exactOptional();
const selectionSchema = z.strictObject({ rule: name, region: name, key: name });

/** Pages that messages link to. They only read: what they offer, a script posts to the API. */
export function addIncidentPages(server: FastifyInstance, { call, clock }: PageDeps): void {
  const find = (request: FastifyRequest) => call(showIncident, { id: idOf(request) });
  const list = async (selection: object, state: readonly string[], limit = mostRows) => {
    const { incidents, next } = await call(listIncidents, { ...selection, state, limit });
    return { incidents, hasMore: next !== null };
  };
  const { addPage } = pageRoutes(server, clock);

  addPage("/incidents", async ({ query }, at) => {
    const label = readLabels(query);
    const { label: _, ...named }: Readonly<Record<string, unknown>> = Object(query);
    const selection = readSelection(named);
    const asked = { ...selection, label };
    const { incidents: open, hasMore } = await list(asked, ["firing", "pending"]);
    const { incidents: resolved } = await list(asked, ["resolved"], mostResolved);
    // What one of a selection is silenced by, silences most likely all of it.
    const muted = Object.keys(selection).length > 0 && open.find((incident) => incident.muted);
    const { silences } = muted ? await call(showIncident, { id: muted.id }) : { silences: [] };
    return renderIncidents(selection, label, { open, hasMore, resolved, silences }, at);
  });
  const actedOn = {
    incidents: ({ query }: FastifyRequest) => ofSelection(readSelection(query)),
    sandbox: ({ query }: FastifyRequest) => ofSandbox(sandboxPlace(query)),
  };
  for (const [path, read] of Object.entries(actedOn)) {
    for (const [action, render] of Object.entries({
      acknowledge: renderAcknowledgeAll,
      unacknowledge: renderUnacknowledgeAll,
    })) {
      addPage(`/${path}/${action}`, async (request, at) => {
        const some = read(request);
        const { sandbox } = some.fields;
        const { incidents, hasMore } = await list(some.fields, ["firing"], mostActedOn);
        // An id may be the beginning of another one.
        const own = incidents.filter(({ sandbox_id: id }) => (sandbox ?? id) === id);
        return render(some, { incidents: own, hasMore }, actorOf(request), at);
      });
    }
  }
  addPage("/incidents/silence", (request, at) => {
    const some = actedOn.incidents(request);
    if (Object.keys(some.fields).length === 0) throw noSelection();
    // The status page lists what is silenced.
    return renderSilenceAll({ ...some, next: "" }, actorOf(request), at);
  });
  addPage("/sandbox/silence", (request, at) =>
    renderSilenceAll(actedOn.sandbox(request), actorOf(request), at),
  );
  addPage("/server/silence", (request, at) => {
    const { region = "", key = "", server: id = "" } = textsOf(request.query);
    const next = `server?${new URLSearchParams({ server: id }).toString()}`;
    const some = { fields: { region, key, server: id }, of: "", next } as const;
    return renderSilenceAll(some, actorOf(request), at);
  });
  addPage("/incidents/:id", async (request, at) => renderIncident(await find(request), at));
  for (const [action, render] of Object.entries({
    acknowledge: renderAcknowledge,
    unacknowledge: renderUnacknowledge,
    silence: renderSilence,
  })) {
    addPage(`/incidents/:id/${action}`, async (request, at) =>
      render(await find(request), actorOf(request), at),
    );
  }

  for (const [action, render] of Object.entries({
    "": (silence: Silence, _: Actor, at: PageAt) => renderSilencePage(silence, at),
    "/change": renderChangeSilence,
    "/end": renderEndSilence,
  })) {
    addPage(`/silences/:id${action}`, async (request, at) =>
      render(await call(showSilence, { id: idOf(request) }), actorOf(request), at),
    );
  }
}

function sandboxPlace(query: unknown) {
  const { region = "", key = "", sandbox = "" } = textsOf(query);
  return { region, key, sandbox_id: sandbox };
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
function actorOf({ identity }: FastifyRequest): Actor {
  if (!identity || (identity.name === null && allows(identity.role, "act"))) {
    return { kind: "unnamed" };
  }
  if (identity.name === null || allows(identity.role, "act")) return { kind: "named" };
  const reason = `${identity.name} has the role ${identity.role}, which does not allow this. The roles operator and admin do.`;
  return { kind: "refused", reason };
}
