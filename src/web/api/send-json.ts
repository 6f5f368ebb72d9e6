import type { FastifyReply, FastifyRequest } from "fastify";
import { etagOf, isNamed } from "./etag.ts";

/** Sends what may be kept, but is to be asked for again each time: mostly it is the same as before. */
export function sendFresh(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  content: object,
): FastifyReply {
  const body = Buffer.from(JSON.stringify(content));
  const etag = etagOf(body);
  void reply.header("cache-control", "no-cache").header("etag", etag);
  if (isNamed(etag, headers["if-none-match"])) return reply.code(304).send();
  return reply.type("application/json; charset=utf-8").send(body);
}
