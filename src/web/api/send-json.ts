import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";

/** Sends JSON that a client may cache but must revalidate each time. */
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

function etagOf(body: Uint8Array): string {
  return `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;
}

/** Whether If-None-Match names it, by the weak comparison that RFC 9110 requires for this header. */
function isNamed(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  const named: readonly string[] = ifNoneMatch.match(/"[^"]*"/g) ?? [];
  return named.includes(etag);
}
