import type { FastifyInstance, FastifyReply } from "fastify";
import { createHttpServer, type HttpServerOptions } from "./http-server.ts";

/** Whether sandwatch works. An outage of the service does not count. */
export type Readiness =
  | { readonly ready: true; /** What else there is to say. */ readonly note?: string }
  | { readonly ready: false; readonly reason: string };

export interface HealthDeps {
  readonly readiness: () => Promise<Readiness>;
  /** Why sandwatch should be restarted; null: it need not be. */
  readonly deadLoop: () => string | null;
}

export function addHealthRoutes(server: FastifyInstance, deps: HealthDeps): void {
  const config = { permission: "health" } as const;
  server.get("/-/healthy", { config }, (_, reply) => {
    const deadLoop = deps.deadLoop();
    return deadLoop === null
      ? sendText(reply, 200, "ok")
      : sendText(reply, 503, `not healthy: ${deadLoop}`);
  });
  server.get("/-/ready", { config }, async (_, reply) => {
    const readiness = await deps.readiness();
    return readiness.ready
      ? sendText(reply, 200, readiness.note === undefined ? "ready" : `ready: ${readiness.note}`)
      : sendText(reply, 503, `not ready: ${readiness.reason}`);
  });
}

/** A client needs one connection. */
const mostConnections = 64;

/** Answers health checks only, without encryption and credentials: clients of the other address cannot take its connections. */
export function createHealthServer(
  deps: HealthDeps & Pick<HttpServerOptions, "onRefused">,
): FastifyInstance {
  const { onRefused } = deps;
  const server = createHttpServer({
    tls: null,
    connections: mostConnections,
    onRefused,
    onFull() {},
  });
  addHealthRoutes(server, deps);
  server.setNotFoundHandler((_, reply) =>
    sendText(reply, 404, "not found; this address has only /-/healthy and /-/ready"),
  );
  return server;
}

export function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type("text/plain").send(`${text}\n`);
}
