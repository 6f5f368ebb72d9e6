import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { asError } from "../../platform/as-error.ts";
import { addEventsRoute } from "./events-route.ts";
import type { EventSource, EventsDeps } from "./events-route.ts";
import { checkRequest, checkSite } from "./guard.ts";
import { asProblem, bodyLimit } from "./as-problem.ts";
import { allowedMethods, noSuchPath, wrongMethod } from "./no-such-operation.ts";
import { apiPrefix, documentPath, operationsPrefix } from "./paths.ts";
import { sendProblem } from "./problem.ts";
import { sendFresh } from "./send-json.ts";

/** Something that the API does. */
export interface ServedOperation {
  readonly method: "GET" | "POST";
  /** Below `/api/v1`, with `{id}` for what stands in between. */
  readonly path: string;
  readonly status: number;
  /** Whether it uses up something elsewhere, so that no page of somebody else's may ask for it. */
  readonly isCostly: boolean;
  /**
   * It is given the request as it came, checks it itself, throws a `RefusedError` for what cannot be
   * done, and answers what may be sent as JSON.
   */
  run(request: {
    readonly id: string;
    readonly query: unknown;
    readonly body: unknown;
  }): Promise<object>;
}

export interface ApiDeps {
  readonly operations: readonly ServedOperation[];
  /** For those who follow what happens. */
  readonly events: EventSource;
  /** What describes them, for programs. */
  readonly document: () => object;
  /** Names in lower case by which it may be called, beside addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
}

/** Serves the API. Every answer of it is JSON, also those to requests that it refuses. */
export function addApi(
  server: FastifyInstance,
  {
    operations,
    events,
    document,
    allowedHosts,
    clock,
    onError,
  }: ApiDeps & Pick<EventsDeps, "clock" | "onError">,
): void {
  const addRoutes = (api: FastifyInstance): void => {
    api.addHook("onRequest", async (request, reply) => {
      const problem = checkRequest(request, allowedHosts);
      if (problem) await sendProblem(reply, problem);
    });

    api.get(documentPath, (request, reply) => sendFresh(request, reply, document()));
    addEventsRoute(api, { events, clock, onError });
    for (const operation of operations) {
      api.route({
        method: operation.method,
        url: `${operationsPrefix}${operation.path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
        bodyLimit,
        handler: (request, reply) => serve(operation, request, reply),
      });
    }

    api.setNotFoundHandler(({ method, url }, reply) => {
      const allowed = allowedMethods(url, operations);
      if (allowed.length === 0) return sendProblem(reply, noSuchPath(operations));
      return sendProblem(reply.header("allow", allowed.join(", ")), wrongMethod(method, allowed));
    });
    api.setErrorHandler((error, _, reply) => {
      const problem = asProblem(error);
      if (problem.status >= 500) onError(asError(error));
      return sendProblem(reply, problem);
    });
  };
  void server.register(async (api) => addRoutes(api), { prefix: apiPrefix });
}

async function serve(
  operation: ServedOperation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { method, status, isCostly } = operation;
  const problem = isCostly ? checkSite(request) : null;
  if (problem) return sendProblem(reply, problem);
  const { params, query, body } = request;
  const content = await operation.run({ id: idIn(params), query, body });
  if (method === "GET" && !isCostly) return sendFresh(request, reply, content);
  return reply.code(status).header("cache-control", "no-store").send(content);
}

function idIn(params: unknown): string {
  const hasId = typeof params === "object" && params !== null && "id" in params;
  return hasId && typeof params.id === "string" ? params.id : "";
}
