import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import { asError } from "../lib/as-error.ts";
import { systemClock } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import { hostToListen, localAddress } from "../lib/listen-address.ts";
import { addApi, pathOf, wrongMethod } from "./api/api.ts";
import type { ApiDeps } from "./api/api.ts";
import { clientStatus, sendProblem } from "./api/problem.ts";
import { connectionsAllowed, limitConnections } from "./connection-limit.ts";
import { addReloadRoute } from "./reload-route.ts";
import type { ReloadDeps } from "./reload-route.ts";
import { addScrapeRoute } from "./scrape-route.ts";
import type { ScrapeSource } from "./scrape-route.ts";
import { renderStatusPage, statusPageStyle } from "./status-page.ts";
import type { StatusView } from "./status-page.ts";

/** Whether sandwatch works. An outage of the service does not count. */
export type Readiness =
  | { readonly ready: true }
  | { readonly ready: false; readonly reason: string };

export interface WebDeps {
  readonly metrics: ScrapeSource;
  readonly readiness: () => Promise<Readiness>;
  /** Why sandwatch should be restarted; null: it need not be. Default: null. */
  readonly death?: () => string | null;
  readonly status: () => Promise<StatusView>;
  /** Default: there is no API. */
  readonly api?: ApiDeps;
  /** Default: its configuration cannot be reloaded. */
  readonly reload?: ReloadDeps | undefined;
  /** An error that a route did not expect. */
  readonly onError: (error: Error) => void;
  /** A scraper that read too slowly was disconnected. */
  readonly onSlowScrape?: () => void;
  /** A connection was refused: all allowed ones have a request in progress. */
  readonly onFull?: (limit: number) => void;
  /** Default: by the limit of file descriptors. */
  readonly connectionsAllowed?: number;
  readonly clock?: Clock;
}

export interface WebServer {
  /** The address to open, once listening. Rejects when the port is taken. */
  listen(at: { readonly host: string; readonly port: number }): Promise<string>;
  close(): Promise<void>;
}

/**
 * Handlers check their requests. The compilers that Fastify would use take longer to load than the rest of it.
 */
const noCompilers = { buildValidator: refuseSchema, buildSerializer: refuseSchema };

function refuseSchema(): never {
  throw new TypeError("a route must have no schema");
}

export function createWebServer(deps: WebDeps): WebServer {
  const server: FastifyInstance = fastify({
    forceCloseConnections: true,
    schemaController: { compilersFactory: noCompilers },
    // A URL that cannot be decoded belongs to no route.
    frameworkErrors: (_, __, reply) => {
      void sendProblem(reply, { status: 400, detail: "This address cannot be read." });
    },
  });

  const limit = deps.connectionsAllowed ?? connectionsAllowed();
  limitConnections(server.server, limit, () => deps.onFull?.(limit));

  server.get("/", async (_, reply) => {
    const page = renderStatusPage(await deps.status());
    return reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", "default-src 'none'; style-src 'self'")
      .send(page);
  });

  server.get("/status-page.css", (_, reply) => reply.type("text/css").send(statusPageStyle));

  const { metrics, onError, onSlowScrape = () => {} } = deps;
  const { clock = systemClock } = deps;
  addScrapeRoute(server, { metrics, clock, onError, onSlowScrape });

  if (deps.api) addApi(server, { ...deps.api, clock, onError });
  if (deps.reload) addReloadRoute(server, deps.reload);

  server.get("/-/healthy", (_, reply) => {
    const death = deps.death?.() ?? null;
    return death === null
      ? reply.type("text/plain").send("ok\n")
      : reply.code(503).type("text/plain").send(`not healthy: ${death}\n`);
  });

  server.get("/-/ready", async (_, reply) => {
    const readiness = await deps.readiness();
    return readiness.ready
      ? reply.type("text/plain").send("ready\n")
      : reply.code(503).type("text/plain").send(`not ready: ${readiness.reason}\n`);
  });

  server.setErrorHandler((error, _, reply) => {
    const status = clientStatus(error);
    if (status !== null) {
      return reply.code(status).type("text/plain").send("the request is wrong\n");
    }
    deps.onError(asError(error));
    return reply.code(500).type("text/plain").send("internal error, see the log\n");
  });

  server.setNotFoundHandler(({ method, url }, reply) => {
    void reply.type("text/plain");
    const path = pathOf(url);
    // It would be taken for the pattern of a route.
    const isPlain = !/[:*(]/.test(path);
    const allowed = ["GET", "POST", "HEAD"].filter(
      (each) => isPlain && server.hasRoute({ method: each, url: path }),
    );
    return allowed.length === 0
      ? reply.code(404).send("not found; try /metrics, /-/healthy or /-/ready\n")
      : reply
          .code(405)
          .header("allow", allowed.join(", "))
          .send(`${wrongMethod(method, allowed).detail}\n`);
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
