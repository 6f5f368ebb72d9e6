import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { listIncidents } from "../../api/operations/incidents.ts";
import { showIncident } from "../../api/operations/show-incident.ts";
import { allows } from "../../lib/access.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { strictHeaders } from "../browser-protection.ts";
import type { ApiDeps } from "./api.ts";
import { actScript, renderAcknowledge, renderAcknowledgeAll } from "./action-pages.ts";
import { renderSilence, renderSilenceAll, type Actor } from "./action-pages.ts";
import { renderIncident, renderIncidents, renderRefusal } from "./incident-pages.ts";
import type { Selection } from "./incident-pages.ts";
import { asProblem } from "./problem.ts";

const pagePolicy = `${strictHeaders["content-security-policy"]}; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'none'`;

const mostRows = 200;
const mostResolved = 20;

/** As the configuration allows them. What is no name could be read as another option of a command that a page shows. */
const name = z.stringFormat("name", /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,62}$/).exactOptional();
const selectionSchema = z.strictObject({ rule: name, region: name, key: name });

/** Pages that messages link to. They only read: what they offer, a script posts to the API. */
export function addIncidentPages(server: FastifyInstance, { call }: Pick<ApiDeps, "call">): void {
  const find = async (id: string) => showIncident.response.parse(await call(showIncident, { id }));
  const list = async (selection: Selection, state: readonly string[], limit = mostRows) => {
    const request = { ...selection, state, limit };
    const { incidents, next } = listIncidents.response.parse(await call(listIncidents, request));
    return { incidents, hasMore: next !== null };
  };
  const addPage = (
    path: string,
    render: (request: FastifyRequest) => Promise<string> | string,
  ): void => {
    const root = "../".repeat(path.split("/").length - 2);
    server.get(path, { config: { permission: "read" } }, async (request, reply) => {
      try {
        return await sendPage(reply, await render(request));
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        const problem = asProblem(error);
        return sendPage(reply.code(problem.status), renderRefusal(problem, root));
      }
    });
  };

  addPage("/incidents", async ({ query }) => {
    const selection = readSelection(query);
    const { incidents: open, hasMore } = await list(selection, ["firing", "pending"]);
    const { incidents: resolved } = await list(selection, ["resolved"], mostResolved);
    return renderIncidents(selection, { open, hasMore, resolved });
  });
  addPage("/incidents/acknowledge", async (request) => {
    const selection = readSelection(request.query);
    const { incidents, hasMore } = await list(selection, ["firing"]);
    return renderAcknowledgeAll(selection, incidents, hasMore, actorOf(request));
  });
  addPage("/incidents/silence", (request) => {
    const selection = readSelection(request.query);
    if (Object.keys(selection).length === 0) throw noSelection();
    return renderSilenceAll(selection, actorOf(request));
  });
  addPage("/incidents/:id", async (request) => renderIncident(await find(idOf(request))));
  addPage("/incidents/:id/acknowledge", async (request) =>
    renderAcknowledge(await find(idOf(request)), actorOf(request)),
  );
  addPage("/incidents/:id/silence", async (request) =>
    renderSilence(await find(idOf(request)), actorOf(request)),
  );
  server.get("/act.js", { config: { permission: "read" } }, (_, reply) =>
    reply.type("text/javascript").send(actScript),
  );
}

function sendPage(reply: FastifyReply, text: string): FastifyReply {
  return reply
    .type("text/html; charset=utf-8")
    .header("content-security-policy", pagePolicy)
    .send(text);
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
