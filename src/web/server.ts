import { createServer, type IncomingMessage, type Server, type ServerOptions } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { Server as TlsServer } from "node:tls";
import { fastify, type FastifyReply, type FastifyRequest } from "fastify";
import { asError } from "../lib/as-error.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import type { Permission } from "../lib/access.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { hostToListen, localAddress } from "../lib/listen-address.ts";
import { addApi, type ApiDeps } from "./api/api.ts";
import {
  asProblem,
  bodyLimit,
  clientStatus,
  rawProblem,
  sayRetryAfter,
  sendProblem,
  wrongMethod,
  type Problem,
} from "./api/problem.ts";
import type { AccessControl, Identity } from "./access.ts";
import { connectionsAllowed, limitConnections, mostStreams } from "./connection-limit.ts";
import { checkSender, strictHeaders, type KnownAddresses } from "./browser-protection.ts";
import { plainAddress } from "../lib/networks.ts";
import { RefusedError } from "../lib/refused-error.ts";
import { readTls, type TlsSettings } from "../lib/tls.ts";
import { renewTls } from "./renew-tls.ts";
import { addScrapeRoute, type ScrapeSource } from "./scrape-route.ts";
import { addIncidentPages } from "./pages/incident-routes.ts";
import { addOccupancy } from "./pages/occupancy-routes.ts";
import { addOverview } from "./pages/overview-route.ts";
import type { StatusView } from "./pages/overview.ts";
import { addAssets } from "./pages/page-route.ts";
import { addServerPages } from "./pages/server-routes.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The permission that the route requires. Default: none; anyone can call it. */
    readonly permission?: Permission;
    /** The operation of the API. */
    readonly operation?: string;
    /** Whether another replica may send it for somebody. Default: no. */
    readonly isForwardable?: boolean;
  }
  interface FastifyRequest {
    /** Who sent it; null: no permission was needed. */
    identity: Identity | null;
  }
}

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

export interface WebDeps extends KnownAddresses {
  readonly metrics: ScrapeSource;
  readonly readiness: () => Promise<Readiness>;
  /** Why sandwatch should be restarted; null: it need not be. */
  readonly deadLoop: () => string | null;
  readonly status: () => Promise<StatusView>;
  readonly targets: readonly WatchedView[];
  readonly api: Pick<ApiDeps, "call" | "callFor" | "events">;
  /** Default: the configuration cannot be reloaded. */
  readonly requestReload?: (() => ReloadAnswer) | undefined;
  readonly access: AccessControl;
  /** Null: without encryption. */
  readonly tls: TlsSettings | null;
  readonly log: Pick<Logger, "info" | "error">;
  /** An error that a route did not expect. */
  readonly onError: (error: Error) => void;
  /** A scraper was disconnected: it read too slowly, or another one needed its place. */
  readonly onSlowScrape: () => void;
  /** A connection was refused: all allowed ones have a request in progress. */
  readonly onFull: (limit: number) => void;
  /** Default: 30 s, for a request with its body. */
  readonly requestTimeoutMs?: number;
  /** Of a connection with a request on which nothing is sent or received. Default: 15 min. */
  readonly inactivityTimeoutMs?: number;
  /** Default: by the limit of file descriptors. */
  readonly connectionsAllowed?: number;
  readonly clock: Clock;
}

interface WebServer {
  /** The address to open, once listening. Rejects when the port is taken. */
  listen(at: { readonly host: string; readonly port: number }): Promise<string>;
  close(): Promise<void>;
}

/** Limits of requests and connections, in bytes and milliseconds. A connection that exceeds one is closed. */
const bounds = {
  /** For all headers together. */
  maxHeaderSize: 16_384,
  /** Until a request has arrived, its body included. */
  requestTimeout: 30_000,
  /** For a connection without a request. */
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 1_000,
  /** Its own refusal would be without our headers: `checkSender` refuses instead. */
  requireHostHeader: false,
};

/** Longer than any operation takes. A client that does not read its response is disconnected then. */
const longestInactivityMs = 15 * 60_000;

/** Browsers ask for a user and password. */
const challenge = 'Basic realm="sandwatch", charset="UTF-8"';

/** Permissions whose use is logged. */
const audited: ReadonlySet<Permission> = new Set(["act", "call", "reload", "delete"]);

/** Handlers check their requests. The compilers that Fastify would use take longer to load than the rest of it. */
const noCompilers = { buildValidator: refuseSchema, buildSerializer: refuseSchema };

function refuseSchema(): never {
  throw new TypeError("a route must have no schema");
}

/** @throws when a file of its TLS cannot be used */
export function createWebServer(given: WebDeps): WebServer {
  let isClosing = false;
  // Requests in progress lose their connections, and then the store: what they fail with is nobody's concern. What was
  // refused is no error, also where the reason is that PostgreSQL is away.
  const onError = (error: Error): void => {
    if (!isClosing && !(error instanceof RefusedError)) given.onError(error);
  };
  const deps = { ...given, onError };
  const { tls, log, clock } = deps;
  const { requestTimeoutMs: requestTimeout = bounds.requestTimeout } = deps;
  const options: ServerOptions = { ...bounds, requestTimeout, headersTimeout: requestTimeout };
  const server = fastify({
    forceCloseConnections: true,
    serverFactory: (handler): Server =>
      tls === null
        ? createServer(options, handler)
        : createSecureServer({ ...options, ...readTls(tls), handshakeTimeout: 10_000 }, handler),
    schemaController: { compilersFactory: noCompilers },
    bodyLimit,
    // A URL that cannot be decoded belongs to no route.
    frameworkErrors: (error, _, reply) => {
      const status = clientStatus(error) ?? 400;
      const detail =
        status === 414 ? "A part of this path is too long." : "This URL cannot be decoded.";
      void sendProblem(reply.headers(strictHeaders), { status, detail });
    },
    clientErrorHandler(error, socket) {
      if (socket.writable) socket.write(rawProblem(unreadable(error.code), strictHeaders));
      socket.destroy();
    },
  });
  server.server.setTimeout(deps.inactivityTimeoutMs ?? longestInactivityMs);
  server.server.on("checkExpectation", ({ socket }: IncomingMessage) => {
    const detail = "The only expectation that can be met is 100-continue.";
    socket.end(rawProblem({ status: 417, detail }, strictHeaders));
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

  server.decorateRequest("identity", null);
  server.addHook("onRequest", async (request, reply) => {
    void reply.headers(strictHeaders);
    const { permission } = request.routeOptions.config;
    // An absolute target names a host of its own, which may be another than that of the header.
    if (!request.url.startsWith("/")) {
      return sendRefusal(request, reply, {
        status: 400,
        detail: "The target of a request is a path.",
      });
    }
    if (permission === "health") return checkAccess(request, reply, permission);
    const problem = checkSender(request, deps);
    if (problem) return sendRefusal(request, reply, problem);
    return permission && checkAccess(request, reply, permission);
  });
  const checkAccess = async (
    request: FastifyRequest,
    reply: FastifyReply,
    permission: Permission,
  ): Promise<unknown> => {
    const headers = request.raw.headersDistinct;
    const address = request.socket.remoteAddress;
    // Already reset: nothing is done that could not be attributed. Node.js keeps an address once it was read.
    if (address === undefined) {
      return sendRefusal(request, reply, { status: 400, detail: "The connection is closed." });
    }
    const { isForwardable = false } = request.routeOptions.config;
    const decision = await deps.access.decide({ headers, address, isForwardable }, permission);
    if (decision.kind === "denied") {
      if (decision.status === 401) void reply.header("www-authenticate", challenge);
      return sendRefusal(request, reply, decision);
    }
    request.identity = decision.identity;
    return undefined;
  };

  // Not onResponse: it does not come if the client disconnects before, and what it asked for is done all the same.
  server.addHook("onSend", async (request, reply) => {
    const { identity, ip, method, url, routeOptions, body } = request;
    const { permission, operation = null } = routeOptions.config;
    if (!identity || !permission || !audited.has(permission)) return;
    const { name: user, role, forwardedFrom } = identity;
    const { statusCode: status } = reply;
    // Without the query, and of a request that failed without ids: they may hold what somebody put there by mistake.
    const [path = ""] = (status < 400 ? url : (routeOptions.url ?? "")).split("?");
    const secrets = Object(body).show_secrets === true;
    const sender = plainAddress(ip);
    const address = forwardedFrom ?? sender;
    const forwarded = forwardedFrom !== undefined && { forwarded_by: sender };
    const asked = { method, path, operation, status, secrets };
    log.info(
      { event: "audit", user, role, address, ...forwarded, ...asked },
      `${user ?? "anonymous"} (${role}) at ${address}: ${method} ${path}${secrets ? " with secrets" : ""}: ${status}`,
    );
  });

  const occupancyCards = addOccupancy(server, { ...deps.api, ...deps });
  addOverview(server, { ...deps.api, ...deps }, [occupancyCards]);
  addIncidentPages(server, { ...deps.api, clock });
  addServerPages(server, { ...deps.api, clock, targets: deps.targets });
  addAssets(server);

  addScrapeRoute(server, deps);

  addApi(server, { ...deps.api, ...deps, allowedMethods, mostStreams: mostStreams(limit) });

  server.get("/-/healthy", { config: { permission: "health" } }, (_, reply) => {
    const deadLoop = deps.deadLoop();
    return deadLoop === null
      ? sendText(reply, 200, "ok")
      : sendText(reply, 503, `not healthy: ${deadLoop}`);
  });

  server.get("/-/ready", { config: { permission: "health" } }, async (_, reply) => {
    const readiness = await deps.readiness();
    return readiness.ready
      ? sendText(reply, 200, "ready")
      : sendText(reply, 503, `not ready: ${readiness.reason}`);
  });

  const { requestReload } = deps;
  if (requestReload) {
    server.post("/-/reload", { config: { permission: "reload" } }, (_, reply) => {
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
    if (error instanceof RefusedError) {
      const problem = asProblem(error);
      return sendText(reply, problem.status, problem.detail);
    }
    onError(asError(error));
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

  const stopRenewing =
    server.server instanceof TlsServer && tls
      ? renewTls(server.server, tls, log, clock)
      : (): void => {};
  return {
    async listen({ host, port }) {
      await server.listen({ host: hostToListen(host), port });
      const bound = server.server.address();
      return localAddress({
        host,
        port: typeof bound === "object" && bound ? bound.port : port,
        tls,
      });
    },
    async close() {
      isClosing = true;
      stopRenewing();
      await server.close();
    },
  };
}

/** What is wrong with a request that Node.js could not read, by the code of its error. */
function unreadable(code: string | undefined): Problem {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return { status: 408, detail: "The request did not arrive in time." };
  }
  if (code === "HPE_HEADER_OVERFLOW") {
    return { status: 431, detail: `Headers have at most ${bounds.maxHeaderSize} bytes.` };
  }
  return { status: 400, detail: "This is not a valid HTTP request." };
}

/** In the API as a problem, elsewhere as text. */
function sendRefusal({ url }: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
  if (/^\/api(?:[/?]|$)/.test(url)) return sendProblem(reply, problem);
  const { status, detail, retryAfterMs } = problem;
  sayRetryAfter(reply, retryAfterMs);
  return sendText(reply, status, detail);
}

function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type("text/plain").send(`${text}\n`);
}
