import type { FastifyReply } from "fastify";
import { statusText } from "../../platform/status-text.ts";

/** An error as RFC 9457 has it; `errors` says which parts of the request are wrong. */
export interface Problem {
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly { readonly path: string; readonly allowed: string }[];
  /** After how long it is worth asking again. */
  readonly retryAfterMs?: number;
}

export function sendProblem(
  reply: FastifyReply,
  { status, detail, errors = [], retryAfterMs }: Problem,
): FastifyReply {
  const problem = {
    type: "about:blank",
    title: statusText(status),
    status,
    detail,
    ...(errors.length > 0 && { errors }),
  };
  if (retryAfterMs !== undefined) {
    void reply.header("retry-after", Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  }
  // As bytes: to a text Fastify would add a charset, which this type does not have.
  const body = Buffer.from(JSON.stringify(problem));
  return reply.code(status).type("application/problem+json").send(body);
}
