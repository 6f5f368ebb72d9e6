import type { FastifyInstance } from "fastify";
import { BusyError, RefusedError } from "../../core/refusal.ts";
import { checkRequest } from "./guard.ts";
import { addLookupRoutes } from "./lookup-routes.ts";
import type { ApiLookups } from "./lookup-routes.ts";
import { sendProblem } from "./problem.ts";
import type { Problem } from "./problem.ts";

/**
 * What the API passes requests on to, as they came. It checks them itself, throws a `RefusedError`
 * for what cannot be done, and answers what may be sent as JSON.
 */
export interface ApiDesk {
  silences(query: unknown): Promise<object>;
  addSilence(request: unknown): Promise<object>;
  expireSilence(id: string): Promise<object>;
  incidents(query: unknown): Promise<object>;
  acknowledge(incident: string, request: unknown): Promise<object>;
  notifications(query: unknown): Promise<object>;
  notification(seq: string): Promise<object>;
  replay(request: unknown): Promise<object>;
  discard(request: unknown): Promise<object>;
  changes(query: unknown): Promise<object>;
  explain(query: unknown): Promise<object>;
  drift(query: unknown): Promise<object>;
  conformance(request: unknown): Promise<object>;
  probes(query: unknown): Promise<object>;
  insights(query: unknown): Promise<object>;
  occupancy(query: unknown): Promise<object>;
}

export interface ApiDeps {
  readonly desk: ApiDesk;
  readonly lookups: ApiLookups;
  /** Names in lower case by which it may be called, beside addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
}

const prefix = "/api/v1";
const bodyLimit = 256 * 1_024;

interface WithId {
  readonly Params: { readonly id: string };
}

/** Serves the API. Every answer of it is JSON, also those to requests that it refuses. */
export function addApi(
  server: FastifyInstance,
  { desk, lookups, allowedHosts, onError }: ApiDeps & { readonly onError: (error: Error) => void },
): void {
  const addRoutes = (api: FastifyInstance): void => {
    api.addHook("onRequest", async (request, reply) => {
      const problem = checkRequest(request, allowedHosts);
      if (problem) await sendProblem(reply, problem);
    });

    api.get("/silences", ({ query }) => desk.silences(query));
    api.post("/silences", { bodyLimit }, async ({ body }, reply) => {
      const silence = await desk.addSilence(body);
      return reply.code(201).send(silence);
    });
    api.post<WithId>("/silences/:id/expire", ({ params }) => desk.expireSilence(params.id));
    api.get("/incidents", ({ query }) => desk.incidents(query));
    api.post<WithId>("/incidents/:id/acknowledge", { bodyLimit }, ({ params, body }) =>
      desk.acknowledge(params.id, body),
    );
    api.get("/notifications", ({ query }) => desk.notifications(query));
    api.get<WithId>("/notifications/:id", ({ params }) => desk.notification(params.id));
    api.post("/notifications/replay", { bodyLimit }, ({ body }) => desk.replay(body));
    api.post("/notifications/discard", { bodyLimit }, ({ body }) => desk.discard(body));
    api.get("/changes", ({ query }) => desk.changes(query));
    api.get("/explain", ({ query }) => desk.explain(query));
    api.get("/drift", ({ query }) => desk.drift(query));
    api.post("/conformance", { bodyLimit }, ({ body }) => desk.conformance(body));
    addLookupRoutes(api, lookups);
    api.get("/probes", ({ query }) => desk.probes(query));
    api.get("/insights", ({ query }) => desk.insights(query));
    api.get("/occupancy", ({ query }) => desk.occupancy(query));

    api.setNotFoundHandler(({ method }, reply) => sendProblem(reply, notFound(method)));
    api.setErrorHandler((error, _, reply) => {
      const problem = asProblem(error);
      if (problem.status >= 500) onError(error instanceof Error ? error : new Error(String(error)));
      return sendProblem(reply, problem);
    });
  };
  void server.register(async (api) => addRoutes(api), { prefix });
}

function notFound(method: string): Problem {
  const detail = `There is no such ${method} operation. Under ${prefix} there are silences, incidents, notifications, changes, explain, insights, occupancy, probes, drift, conformance and lookups.`;
  return { status: 404, detail };
}

const statusOf = { invalid: 400, not_found: 404, conflict: 409, busy: 429 } as const;

function asProblem(error: unknown): Problem {
  if (error instanceof RefusedError) {
    return {
      status: statusOf[error.kind],
      detail: error.message,
      errors: error.faults,
      ...(error instanceof BusyError && { retryAfterMs: error.retryAfterMs }),
    };
  }
  const status = statusCodeOf(error);
  if (status === 413) return { status, detail: `A body has at most ${bodyLimit} bytes.` };
  if (status >= 400 && status < 500) return { status, detail: "The body must be JSON." };
  return { status: 500, detail: "Internal error, see the log." };
}

/** Fastify's own errors say which status they stand for. */
function statusCodeOf(error: unknown): number {
  const isObject = typeof error === "object" && error !== null && "statusCode" in error;
  return isObject && typeof error.statusCode === "number" ? error.statusCode : 500;
}
