import type { FastifyInstance } from "fastify";
import { checkSender } from "./api/guard.ts";

/** The last reload; at first the start. */
export interface LastReload {
  readonly successful: boolean;
  /** When it was last read and run. UTC milliseconds. */
  readonly successAtMs: number;
}

export type ReloadAnswer =
  /** `begin` restarts sandwatch with it, which ends the connection of the request. */
  | { readonly kind: "accepted"; readonly begin: () => void }
  /** The reason contains nothing secret. */
  | { readonly kind: "refused"; readonly reason: string };

export interface ReloadDeps {
  readonly requestReload: () => ReloadAnswer;
  /** Names in lower case by which it may be called, beside addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
}

/** `POST /-/reload`: 200 when the configuration is taken on, 400 with every fault when it is not. */
export function addReloadRoute(
  server: FastifyInstance,
  { requestReload, allowedHosts }: ReloadDeps,
): void {
  server.post("/-/reload", (request, reply) => {
    const problem = checkSender(request, allowedHosts);
    if (problem) return reply.code(problem.status).type("text/plain").send(`${problem.detail}\n`);
    const answer = requestReload();
    if (answer.kind === "refused") {
      return reply.code(400).type("text/plain").send(`${answer.reason}\n`);
    }
    reply.raw.once("close", answer.begin);
    return reply
      .header("connection", "close")
      .type("text/plain")
      .send("the configuration is valid, sandwatch goes on with it\n");
  });
}
