import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { documentPath, eventsPath, operationsRoot, pathFields } from "../../api/operation.ts";
import type { Operation } from "../../api/operation.ts";
import { RefusedError } from "../../lib/refusal.ts";
import { asError } from "../../lib/as-error.ts";
import { addEventsRoute } from "./events-route.ts";
import type { EventSource, EventsDeps } from "./events-route.ts";
import { checkRequest, checkSite } from "./guard.ts";
import { asProblem, bodyLimit, sendProblem } from "./problem.ts";
import type { Problem } from "./problem.ts";
import { sendFresh } from "./send-json.ts";

export interface ApiDeps {
  readonly operations: readonly Operation[];
  /** Checks the request and answers it. Throws a `RefusedError` for a request that it refuses. */
  readonly call: (operation: Operation, request: unknown) => Promise<object>;
  readonly events: EventSource;
  /** The OpenAPI document. */
  readonly document: () => object;
  /** Names in lower case that are accepted as Host, beside addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
}

const prefix = "/api";

/** Binds the operations to HTTP. Every response is JSON, including refusals. */
export function addApi(
  server: FastifyInstance,
  { clock, onError, ...deps }: ApiDeps & Pick<EventsDeps, "clock" | "onError">,
): void {
  const { operations, allowedHosts } = deps;
  const addRoutes = (api: FastifyInstance): void => {
    api.addHook("onRequest", async (request, reply) => {
      const problem = checkRequest(request, allowedHosts);
      if (problem) await sendProblem(reply, problem);
    });

    api.get(withoutPrefix(documentPath), (request, reply) =>
      sendFresh(request, reply, deps.document()),
    );
    addEventsRoute(api, withoutPrefix(eventsPath), { events: deps.events, clock, onError });
    for (const operation of operations) {
      api.route({
        method: operation.method,
        url: withoutPrefix(operationsRoot + operation.path.replaceAll(/\{(\w+)\}/g, ":$1")),
        bodyLimit,
        handler: (request, reply) => serve(operation, deps.call, request, reply),
      });
    }

    api.setNotFoundHandler(({ method, url }, reply) => {
      const allowed = allowedMethods(pathOf(url), operations);
      if (allowed.length === 0) return sendProblem(reply, noSuchPath(operations));
      return sendProblem(reply.header("allow", allowed.join(", ")), wrongMethod(method, allowed));
    });
    api.setErrorHandler((error, _, reply) => {
      const problem = asProblem(error);
      if (problem.status >= 500) onError(asError(error));
      return sendProblem(reply, problem);
    });
  };
  void server.register(async (api) => addRoutes(api), { prefix });
}

function withoutPrefix(path: string): string {
  return path.slice(prefix.length);
}

async function serve(
  operation: Operation,
  call: ApiDeps["call"],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { method, status = 200, callsService = false } = operation;
  const problem = callsService ? checkSite(request) : null;
  if (problem) return sendProblem(reply, problem);
  const content = await call(operation, requestOf(operation, request));
  if (method === "GET" && !callsService) return sendFresh(request, reply, content);
  return reply.code(status).header("cache-control", "no-store").send(content);
}

/** The fields of the path with those of the query of a GET, or of the body of a POST. */
function requestOf({ method, path }: Operation, { params, query, body }: FastifyRequest): unknown {
  if (method === "POST" && Object.keys(Object(query)).length > 0) {
    throw new RefusedError("invalid", "A POST has its fields in the body, not in the query.");
  }
  const sent: unknown = method === "GET" ? query : body;
  if (pathFields(path).length === 0) return sent;
  const isObject = typeof sent === "object" && sent !== null && !Array.isArray(sent);
  return isObject ? { ...sent, ...Object(params) } : sent;
}

/** The methods of a path. Empty: there is no such path. */
function allowedMethods(path: string, operations: readonly Operation[]): readonly string[] {
  const methods = new Set<string>(
    operations
      .filter((operation) => patternOf(operation.path).test(path))
      .map(({ method }) => method),
  );
  if (path === documentPath || path === eventsPath) methods.add("GET");
  if (methods.has("GET")) methods.add("HEAD");
  return [...methods];
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${operationsRoot}${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}

/** The path of a URL, without its query. */
export function pathOf(url: string): string {
  return url.replace(/[?#].*$/, "");
}

function noSuchPath(operations: readonly Operation[]): Problem {
  const paths = [...operations.map(({ path }) => path), eventsPath.slice(operationsRoot.length)];
  const names = [...new Set(paths.map((path) => path.split("/")[1] ?? ""))];
  const detail = `There is nothing at this address. Under ${operationsRoot} there are ${inWords(names)}; ${documentPath} describes them.`;
  return { status: 404, detail };
}

export function wrongMethod(method: string, allowed: readonly string[]): Problem {
  const detail = `There is no ${method} of this address, only ${inWords(allowed)}.`;
  return { status: 405, detail };
}

function inWords(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
}
