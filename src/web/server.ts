import { fastify } from "fastify";
import type { FastifyReply } from "fastify";
import { asError } from "../lib/as-error.ts";
import type { Clock } from "../lib/clock.ts";
import { hostToListen, localAddress } from "../lib/listen-address.ts";
import { addApi } from "./api/api.ts";
import type { ApiDeps } from "./api/api.ts";
import { checkSender } from "./api/guard.ts";
import { clientStatus, sendProblem, wrongMethod } from "./api/problem.ts";
import { connectionsAllowed, limitConnections } from "./connection-limit.ts";
import { addScrapeRoute } from "./scrape-route.ts";
import type { ScrapeSource } from "./scrape-route.ts";
import { renderStatusPage, statusPageStyle } from "./status-page.ts";
import type { StatusView } from "./status-page.ts";

/** Whether sandwatch works. An outage of the service does not count. */
export type Readiness =
  | { readonly ready: true }
  | { readonly ready: false; readonly reason: string };

/** The last reload; at first the start. */
export interface LastReload {
  readonly successful: boolean;
  /** When the configuration in use was read. UTC milliseconds. */
  readonly successAtMs: number;
}

export type ReloadAnswer =
  /** `begin` restarts sandwatch with it, which ends the connection of the request. */
  | { readonly kind: "accepted"; readonly begin: () => void }
  /** The reason contains nothing secret. */
  | { readonly kind: "refused"; readonly reason: string };

export interface WebDeps {
  readonly metrics: ScrapeSource;
  readonly readiness: () => Promise<Readiness>;
  /** Why sandwatch should be restarted; null: it need not be. */
  readonly death: () => string | null;
  readonly status: () => Promise<StatusView>;
  readonly api: Pick<ApiDeps, "call" | "events">;
  /** Default: the configuration cannot be reloaded. */
  readonly requestReload?: (() => ReloadAnswer) | undefined;
  /** Host names in lower case that are accepted, beside addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
  /** An error that a route did not expect. */
  readonly onError: (error: Error) => void;
  /** A scraper that read too slowly was disconnected. */
  readonly onSlowScrape: () => void;
  /** A connection was refused: all allowed ones have a request in progress. */
  readonly onFull: (limit: number) => void;
  /** Default: by the limit of file descriptors. */
  readonly connectionsAllowed?: number;
  readonly clock: Clock;
}

export interface WebServer {
  /** The address to open, once listening. Rejects when the port is taken. */
  listen(at: { readonly host: string; readonly port: number }): Promise<string>;
  close(): Promise<void>;
}

/** Handlers check their requests. The compilers that Fastify would use take longer to load than the rest of it. */
const noCompilers = { buildValidator: refuseSchema, buildSerializer: refuseSchema };

function refuseSchema(): never {
  throw new TypeError("a route must have no schema");
}

export function createWebServer(deps: WebDeps): WebServer {
  const server = fastify({
    forceCloseConnections: true,
    schemaController: { compilersFactory: noCompilers },
    // A URL that cannot be decoded belongs to no route.
    frameworkErrors: (_, __, reply) => {
      void sendProblem(reply, { status: 400, detail: "This URL cannot be decoded." });
    },
  });

  const limit = deps.connectionsAllowed ?? connectionsAllowed();
  limitConnections(server.server, limit, () => deps.onFull(limit));

  const routes: { readonly method: string; readonly pattern: RegExp }[] = [];
  server.addHook("onRoute", ({ method: methods, url }) => {
    const pattern = new RegExp(`^${url.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`);
    for (const method of [methods].flat()) routes.push({ method, pattern });
  });
  /** The methods of a path. Empty: there is no such path. */
  const allowedMethods = (url: string): readonly string[] => {
    const path = url.replace(/[?#].*$/, "");
    const methods = routes.flatMap(({ method, pattern }) => (pattern.test(path) ? method : []));
    return [...new Set(methods)].toSorted();
  };

  server.get("/", async (_, reply) => {
    const page = renderStatusPage(await deps.status());
    return reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", "default-src 'none'; style-src 'self'")
      .send(page);
  });

  server.get("/status-page.css", (_, reply) => reply.type("text/css").send(statusPageStyle));

  addScrapeRoute(server, deps);

  addApi(server, { ...deps.api, ...deps, allowedMethods });

  server.get("/-/healthy", (_, reply) => {
    const death = deps.death();
    return death === null
      ? sendText(reply, 200, "ok")
      : sendText(reply, 503, `not healthy: ${death}`);
  });

  server.get("/-/ready", async (_, reply) => {
    const readiness = await deps.readiness();
    return readiness.ready
      ? sendText(reply, 200, "ready")
      : sendText(reply, 503, `not ready: ${readiness.reason}`);
  });

  const { requestReload, allowedHosts } = deps;
  if (requestReload) {
    server.post("/-/reload", (request, reply) => {
      const problem = checkSender(request, allowedHosts);
      if (problem) return sendText(reply, problem.status, problem.detail);
      const answer = requestReload();
      if (answer.kind === "refused") return sendText(reply, 400, answer.reason);
      reply.raw.once("close", answer.begin);
      void reply.header("connection", "close");
      return sendText(reply, 200, "the configuration is valid and is applied now");
    });
  }

  server.setErrorHandler((error, _, reply) => {
    const status = clientStatus(error);
    if (status !== null) return sendText(reply, status, "the request is invalid");
    deps.onError(asError(error));
    return sendText(reply, 500, "internal error; see the log");
  });

  server.setNotFoundHandler(({ method, url }, reply) => {
    const allowed = allowedMethods(url);
    if (allowed.length === 0) {
      return sendText(reply, 404, "not found; try /metrics, /-/healthy or /-/ready");
    }
    void reply.header("allow", allowed.join(", "));
    return sendText(reply, 405, wrongMethod(method, allowed).detail);
  });

  return {
    async listen({ host, port }) {
      await server.listen({ host: hostToListen(host), port });
      const bound = server.server.address();
      return localAddress({ host, port: typeof bound === "object" && bound ? bound.port : port });
    },
    close: () => server.close(),
  };
}

function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type("text/plain").send(`${text}\n`);
}
