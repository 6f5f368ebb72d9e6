import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import { asError } from "../platform/as-error.ts";
import { systemClock } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";
import { hostToListen, localAddress } from "../platform/listen-address.ts";
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

/** Whether sandwatch does its work: an outage of the service does not count against it. */
export type Readiness =
  | { readonly ready: true }
  | { readonly ready: false; readonly reason: string };

export interface WebDeps {
  readonly metrics: ScrapeSource;
  readonly readiness: () => Promise<Readiness>;
  /** Why sandwatch should be restarted; null: it need not be. Default: it need not be. */
  readonly death?: () => string | null;
  readonly status: () => Promise<StatusView>;
  /** Left out: there is no API. */
  readonly api?: ApiDeps;
  /** Left out: it cannot be asked to read its configuration again. */
  readonly reload?: ReloadDeps | undefined;
  /** An error that a route did not expect. */
  readonly onError: (error: Error) => void;
  /** A scraper read so slowly that it was cut off. */
  readonly onSlowScrape?: () => void;
  /** A connection was refused: each of those that are allowed has a request that is being answered. */
  readonly onFull?: (limit: number) => void;
  /** How many connections may be open; left out: what the limit of descriptors leaves room for. */
  readonly connectionsAllowed?: number;
  readonly clock?: Clock;
}

export interface WebServer {
  /** The address to open, once listening. Rejects when the port is taken. */
  listen(at: { readonly host: string; readonly port: number }): Promise<string>;
  close(): Promise<void>;
}

/**
 * Requests are checked by those who answer them. What Fastify would check them with takes longer to
 * load than all else of it.
 */
const noCompilers = { buildValidator: refuseSchema, buildSerializer: refuseSchema };

function refuseSchema(): never {
  throw new TypeError("a route must have no schema");
}

export function createWebServer(deps: WebDeps): WebServer {
  const server: FastifyInstance = fastify({
    forceCloseConnections: true,
    schemaController: { compilersFactory: noCompilers },
    // What cannot be read as an address belongs to no route, nor to the API by its prefix.
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
    // It would be read as a route's pattern.
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
