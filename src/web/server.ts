import { Server as TlsServer } from "node:tls";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Negotiator from "negotiator";
import { asError } from "../lib/as-error.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import type { Permission } from "../lib/access.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { hostToListen, localAddress } from "../lib/listen-address.ts";
import { addApi, type ApiDeps } from "./api/api.ts";
import { asProblem, clientStatus, sayRetryAfter, sendProblem, wrongMethod } from "./api/problem.ts";
import type { AccessControl, Identity } from "./access.ts";
import { connectionsAllowed, mostStreams } from "./connection-limit.ts";
import { checkSender, type KnownAddresses } from "./browser-protection.ts";
import { createHeavyTurns } from "./heavy-turns.ts";
import { addHealthRoutes, createHealthServer, sendText, type HealthDeps } from "./health-routes.ts";
import { createHttpServer, type HttpServerOptions } from "./http-server.ts";
import { plainAddress, type Network } from "../lib/networks.ts";
import type { RefusedProblem } from "./refusals.ts";
import { RefusedError } from "../lib/refused-error.ts";
import { renewTls } from "./renew-tls.ts";
import { addScrapeRoute, type ScrapeSource } from "./scrape-route.ts";
import { senderAddress } from "./sender.ts";
import { addIncidentPages } from "./pages/incident-routes.ts";
import type { LabelledKeys } from "./pages/label-filter.ts";
import { addListPages } from "./pages/list-routes.ts";
import { addOccupancy } from "./pages/occupancy-routes.ts";
import { addOverview, type StatusView } from "./pages/overview.ts";
import { addAssets, notFoundPage, typedCall } from "./pages/page-route.ts";
import { addRunbookPages } from "./pages/runbook-pages.ts";
import { addServerPages } from "./pages/server-routes.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The permission that the route requires. Default: none; anyone can call it. */
    readonly permission?: Permission;
    /** The operation of the API. */
    readonly operation?: string;
    /** The request has its permission by its signature, which the handler verifies. */
    readonly isSigned?: true;
  }
  interface FastifyRequest {
    /** Who sent it; null: no permission was needed. */
    identity: Identity | null;
    /** The address of who sent it, which a trusted proxy may have stated. */
    sender: string;
  }
}

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

type HttpLimits = Pick<
  HttpServerOptions,
  "tls" | "onRefused" | "requestTimeoutMs" | "inactivityTimeoutMs" | "mostWaitingBytes"
>;

/** What the HTTP server of a process needs, also of one that stands by. */
export interface ServerDeps extends KnownAddresses, HealthDeps, HttpLimits {
  readonly metrics: ScrapeSource;
  readonly access: AccessControl;
  /** Proxies that may state in `X-Forwarded-For` who sent a request. */
  readonly trustedProxies: readonly Network[];
  readonly log: Pick<Logger, "info" | "error">;
  /** An error that a route did not expect. */
  readonly onError: (error: Error) => void;
  /** A scraper was disconnected: it read too slowly, or another one needed its place. */
  readonly onSlowScrape: () => void;
  /** A connection was refused: all allowed ones have a request in progress. */
  readonly onFull: (limit: number) => void;
  /** Default: by the limit of file descriptors. */
  readonly connectionsAllowed?: number;
  readonly clock: Clock;
}

export interface WebDeps extends ServerDeps {
  readonly status: () => Promise<StatusView>;
  readonly targets: readonly WatchedView[];
  /** Those that pages can be limited to by their labels. */
  readonly keys: LabelledKeys;
  readonly api: Pick<ApiDeps, "call" | "events" | "receiveWebhook">;
  /** Default: the configuration cannot be reloaded. */
  readonly requestReload?: (() => ReloadAnswer) | undefined;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

export interface WebServer {
  /** The address to open, once listening. Rejects when a port is taken. */
  listen(at: Address & { readonly healthListen?: Address | null }): Promise<string>;
  close(): Promise<void>;
}

/** Browsers ask for a user and password. */
const challenge = 'Basic realm="sandwatch", charset="UTF-8"';

/** Permissions whose use is logged. */
const audited: ReadonlySet<Permission> = new Set(["act", "call", "reload", "delete"]);

/** What routes are added with. */
interface RouteDeps {
  readonly onError: (error: Error) => void;
  readonly allowedMethods: ApiDeps["allowedMethods"];
  readonly mostStreams: number;
}

/** @throws when a file of its TLS cannot be used */
export function createWebServer(deps: WebDeps): WebServer {
  const { requestReload } = deps;
  return createBaseServer(deps, (server, routes) => {
    const api = { ...deps.api, ...deps, ...routes, takeTurn: createHeavyTurns() };
    const pages = { ...api, call: typedCall(api.call) };
    addOverview(server, pages, [addOccupancy(server, pages)]);
    addIncidentPages(server, pages);
    addListPages(server, pages);
    addRunbookPages(server, pages);
    addServerPages(server, pages);
    addAssets(server);
    addApi(server, api);
    if (requestReload) addReload(server, requestReload);
  });
}

export function addReload(server: FastifyInstance, requestReload: () => ReloadAnswer): void {
  server.post("/-/reload", { config: { permission: "reload" } }, (_, reply) => {
    const answer = requestReload();
    if (answer.kind === "refused") return sendText(reply, 400, answer.reason);
    reply.raw.once("close", answer.begin);
    void reply.header("connection", "close");
    return sendText(reply, 200, "the configuration is valid and is applied now");
  });
}

/**
 * A server with `/metrics`, `/-/healthy` and `/-/ready`.
 *
 * @param addRoutes adds the others
 * @throws when a file of its TLS cannot be used
 */
export function createBaseServer(
  given: ServerDeps,
  addRoutes: (server: FastifyInstance, deps: RouteDeps) => void,
): WebServer {
  let isClosing = false;
  // Requests in progress lose their connections, and then the store: what they fail with is nobody's concern. What was
  // refused is no error, also where the reason is that PostgreSQL is away.
  const onError = (error: Error): void => {
    if (!isClosing && !(error instanceof RefusedError)) given.onError(error);
  };
  const deps = { ...given, onError };
  const { tls, log, clock } = deps;
  const limit = deps.connectionsAllowed ?? connectionsAllowed();
  const server = createHttpServer({
    ...deps,
    connections: limit,
    onFull: () => deps.onFull(limit),
  });

  const allowedMethods = watchRoutes(server);
  addAccess(server, deps);
  addAudit(server, deps);
  addRoutes(server, { onError, allowedMethods, mostStreams: mostStreams(limit) });
  addScrapeRoute(server, deps);
  addHealthRoutes(server, deps);
  addFallbacks(server, allowedMethods, deps);

  const stopRenewing =
    server.server instanceof TlsServer && tls
      ? renewTls(server.server, tls, log, clock)
      : (): void => {};
  let health: FastifyInstance | null = null;
  return {
    async listen({ host, port, healthListen }) {
      await server.listen({ host: hostToListen(host), port });
      if (healthListen) {
        health = createHealthServer(deps);
        await health.listen({ host: hostToListen(healthListen.host), port: healthListen.port });
      }
      return localAddress({ host, port: portOf(server) ?? port, tls });
    },
    async close() {
      isClosing = true;
      stopRenewing();
      await Promise.all([server.close(), health?.close()]);
    },
  };
}

/** The returned function gives the methods of a path. Empty: there is no such path. */
function watchRoutes(server: FastifyInstance): ApiDeps["allowedMethods"] {
  const routes: { readonly method: string; readonly pattern: RegExp }[] = [];
  server.addHook("onRoute", ({ method: methods, url }) => {
    const pattern = new RegExp(`^${url.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`);
    for (const method of [methods].flat()) routes.push({ method, pattern });
  });
  return (url) => {
    const path = url.replace(/[?#].*$/, "");
    const methods = routes.flatMap(({ method, pattern }) => (pattern.test(path) ? method : []));
    return [...new Set(methods)].toSorted();
  };
}

/** Refuses requests of strangers, and those without the permission of their route. */
function addAccess(server: FastifyInstance, deps: ServerDeps): void {
  server.decorateRequest("identity", null);
  server.decorateRequest("sender", "");
  server.addHook("onRequest", async (request, reply) => {
    const { headersDistinct } = request.raw;
    request.sender = senderAddress(
      request.socket.remoteAddress ?? "",
      headersDistinct["x-forwarded-for"] ?? [],
      deps.trustedProxies,
    );
    const { permission, isSigned } = request.routeOptions.config;
    // An absolute target names a host of its own, which may be another than that of the header.
    if (!request.url.startsWith("/")) {
      return sendRefusal(deps, request, reply, {
        status: 400,
        detail: "The target of a request is a path.",
        reason: "unreadable",
      });
    }
    if (permission === "health") return checkAccess(deps, request, reply, permission);
    const problem = checkSender(request, deps);
    if (problem) return sendRefusal(deps, request, reply, problem);
    return permission && !isSigned && checkAccess(deps, request, reply, permission);
  });
}

async function checkAccess(
  deps: Pick<ServerDeps, "access" | "onRefused">,
  request: FastifyRequest,
  reply: FastifyReply,
  permission: Permission,
): Promise<unknown> {
  const headers = request.raw.headersDistinct;
  const address = request.socket.remoteAddress;
  // Already reset: nothing is done that could not be attributed. Node.js keeps an address once it was read.
  if (address === undefined) {
    const detail = "The connection is closed.";
    return sendRefusal(deps, request, reply, { status: 400, detail, reason: "unreadable" });
  }
  const { sender } = request;
  const hasLeft = (): boolean => request.raw.socket.destroyed;
  const asked = { headers, address, sender, hasLeft };
  const decision = await deps.access.decide(asked, permission);
  if (decision.kind === "denied") {
    if (decision.status === 401) void reply.header("www-authenticate", challenge);
    return sendRefusal(deps, request, reply, decision);
  }
  request.identity = decision.identity;
  return undefined;
}

function sendRefusal(
  { onRefused }: Pick<ServerDeps, "onRefused">,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: RefusedProblem,
): FastifyReply {
  onRefused({ reason: problem.reason, address: request.sender });
  // In the API as a problem, elsewhere as text.
  if (/^\/api(?:[/?]|$)/.test(request.url)) return sendProblem(reply, problem);
  sayRetryAfter(reply, problem.retryAfterMs);
  return sendText(reply, problem.status, problem.detail);
}

/** Logs the use of permissions. */
function addAudit(server: FastifyInstance, { log, onRefused }: ServerDeps): void {
  // Not onResponse: it does not come if the client disconnects before, and what it asked for is done all the same.
  server.addHook("onSend", async (request, reply) => {
    const { identity, method, url, routeOptions, body } = request;
    // Of a request whose credentials were right: too much is asked for at once.
    if (identity && reply.statusCode === 429) {
      onRefused({ reason: "busy", address: request.sender });
    }
    const { permission, operation = null } = routeOptions.config;
    if (!identity || !permission || !audited.has(permission)) return;
    const { name: user, role } = identity;
    const { statusCode: status } = reply;
    // Without the query, and of a request that failed without ids: they may hold what somebody put there by mistake.
    const [path = ""] = (status < 400 ? url : (routeOptions.url ?? "")).split("?");
    const secrets = Object(body).show_secrets === true;
    const address = plainAddress(request.sender);
    const asked = { method, path, operation, status, secrets };
    log.info(
      { event: "audit", user, role, address, ...asked },
      `${user ?? "anonymous"} (${role}) at ${address}: ${method} ${path}${secrets ? " with secrets" : ""}: ${status}`,
    );
  });
}

/** Answers what failed, and what no route answers. */
function addFallbacks(
  server: FastifyInstance,
  allowedMethods: ApiDeps["allowedMethods"],
  { clock, onError }: Pick<ServerDeps, "clock" | "onError">,
): void {
  server.setErrorHandler((error, _, reply) => {
    const status = clientStatus(error);
    if (status !== null) return sendText(reply, status, "the request is invalid");
    if (error instanceof RefusedError) {
      const problem = asProblem(error);
      return sendText(reply, problem.status, problem.detail);
    }
    onError(asError(error));
    return sendText(reply, 500, "internal error; see the log");
  });

  server.setNotFoundHandler(({ method, url, headers }, reply) => {
    const allowed = allowedMethods(url);
    if (allowed.length === 0) {
      const types = ["text/plain", "text/html", "application/json"];
      const wanted = new Negotiator({ headers }).mediaType(types);
      if (wanted === "application/json")
        return sendProblem(reply, { status: 404, detail: "There is no such address." });
      if (wanted === "text/html") {
        const [path = "/"] = url.split(/[?#]/);
        const { body, policy } = notFoundPage(path, clock.now().utcMs);
        void reply.code(404).header("content-security-policy", policy);
        return reply.type("text/html; charset=utf-8").send(body);
      }
      return sendText(reply, 404, "not found; try /metrics, /-/healthy or /-/ready");
    }
    void reply.header("allow", allowed.join(", "));
    return sendText(reply, 405, wrongMethod(method, allowed).detail);
  });
}

function portOf({ server }: FastifyInstance): number | undefined {
  const bound = server.address();
  return typeof bound === "object" && bound ? bound.port : undefined;
}
