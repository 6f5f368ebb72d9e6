import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { describeApi } from "../../api/openapi.ts";
import { documentPath, eventsPath, operationsRoot, type Operation } from "../../api/operation.ts";
import { apiOperations } from "../../api/operations.ts";
import { asError } from "../../lib/as-error.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { addEventsRoute, type EventsDeps } from "./events-route.ts";
import { checkJson } from "../browser-protection.ts";
import { ownerOf } from "../slow-readers.ts";
import type { TakeTurn } from "../heavy-turns.ts";
import { asProblem, sendProblem, wrongMethod } from "./problem.ts";
import { addWebhooksRoute, type WebhooksDeps } from "./webhooks-route.ts";

export interface ApiDeps extends EventsDeps, WebhooksDeps {
  /** Checks the request and answers it. Throws a `RefusedError` for a request that it refuses. */
  readonly call: (operation: Operation, request: unknown) => Promise<object>;
  /** Lets few operations that read much of the history be handled at a time. */
  readonly takeTurn: TakeTurn;
  /** The methods of the path of a URL. */
  readonly allowedMethods: (url: string) => readonly string[];
}

const prefix = "/api";

/** Binds the operations to HTTP. Every response is JSON, including refusals. */
export function addApi(server: FastifyInstance, deps: ApiDeps): void {
  const { call, allowedMethods, takeTurn, onError } = deps;
  const addRoutes = (api: FastifyInstance): void => {
    api.get(withoutPrefix(documentPath), { config: { permission: "read" } }, (request, reply) =>
      sendFresh(request, reply, describeApi()),
    );
    addEventsRoute(api, withoutPrefix(eventsPath), deps);
    addWebhooksRoute(api, deps);
    for (const operation of apiOperations) {
      const { method, path, status = 200, permission } = operation;
      api.route({
        method,
        url: withoutPrefix(operationsRoot + path.replaceAll(/\{(\w+)\}/g, ":$1")),
        config: { permission, operation: operation.name },
        async preParsing(request, reply) {
          const problem = method === "POST" ? checkJson(request) : null;
          if (problem) await sendProblem(reply, problem);
        },
        async handler(request, reply) {
          const handle = () => call(operation, requestOf(operation, request));
          const content = operation.isHeavy
            ? await takeTurn(ownerOf(request), handle, () => reply.raw.destroyed)
            : await handle();
          return method === "GET"
            ? sendFresh(request, reply, content)
            : reply.code(status).send(content);
        },
      });
    }
    api.setNotFoundHandler(({ method, url }, reply) => {
      const allowed = allowedMethods(url);
      if (allowed.length === 0) {
        const detail = `There is nothing at this address. ${documentPath} describes the API.`;
        return sendProblem(reply, { status: 404, detail });
      }
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

/**
 * The fields of the path with those of the query of a GET, or of the body of a POST. The author of what is done is who
 * sent the request, where that is known.
 */
function requestOf(
  { method, request: schema }: Operation,
  { params, query, body, identity }: FastifyRequest,
): unknown {
  if (method === "POST" && Object.keys(Object(query)).length > 0) {
    throw new RefusedError("invalid", "A POST has its fields in the body, not in the query.");
  }
  const sent: unknown = method === "GET" ? query : body;
  if (typeof sent !== "object" || sent === null || Array.isArray(sent)) return sent;
  const hasAuthor = schema instanceof z.ZodObject && "author" in schema.shape;
  const author = hasAuthor && identity?.name ? { author: identity.name } : {};
  return { ...sent, ...author, ...Object(params) };
}

/** Sends JSON that a client may cache but must revalidate each time. */
function sendFresh(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  content: object,
): FastifyReply {
  const body = Buffer.from(JSON.stringify(content));
  const hash = createHash("sha256").update(body).digest("base64url").slice(0, 27);
  const etag = `"${hash}"`;
  void reply.header("cache-control", "private, no-cache").header("etag", etag);
  // By the weak comparison that RFC 9110 requires for this header.
  const known = headers["if-none-match"]?.trim();
  const isKnown = known === "*" || known?.match(/"[^"]*"/g)?.includes(etag);
  if (isKnown) return reply.code(304).send();
  return reply.type("application/json; charset=utf-8").send(body);
}
