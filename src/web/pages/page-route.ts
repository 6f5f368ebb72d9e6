import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Negotiator from "negotiator";
import type { Clock } from "../../lib/clock.ts";
import { statusText } from "../../lib/http-status.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { openZone, utc } from "../../reports/zone.ts";
import type { CallApi } from "../../api/operation.ts";
import type { ApiDeps } from "../api/api.ts";
import { asProblem, sayRetryAfter, type Problem } from "../api/problem.ts";
import { loadAssets } from "../assets.ts";
import { strictHeaders } from "../browser-protection.ts";
import { html } from "../html.ts";
import { page, type PageAt } from "./layout.ts";

/** Forms without a script only lead to other pages: what acts is JSON, which a form cannot send. */
const pagePolicy = [
  strictHeaders["content-security-policy"],
  "base-uri 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
].join("; ");

/** What pages show comes from the API. */
export interface PageDeps {
  readonly call: CallApi;
  readonly clock: Clock;
}

export function typedCall(call: ApiDeps["call"]): CallApi {
  return async (operation, request) => operation.response.parse(await call(operation, request));
}

/** What is sent of a page. It is the same for as long as the page says the same, but for ages. */
interface PageBody {
  readonly etag: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
}

type RenderPage = (
  request: FastifyRequest,
  at: PageAt,
) => Promise<string | PageBody> | string | PageBody;

/** The time zone of the reader, which the pages' script has noted in a cookie. */
function zoneOfReader(cookie: string | undefined): string {
  const [, written = ""] = /(?:^|; *)tz=([\w+:./-]{1,60})(?:;|$)/.exec(cookie ?? "") ?? [];
  return openZone(written)?.name ?? utc.name;
}

/** The fields of an address: of one that is given several times, the first value. */
export function textsOf(query: unknown): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(Object(query)).map(([name, value]) => [name, String([value].flat()[0])]),
  );
}

/** Adds pages for those who may read. What the API refuses is answered by a page, too. */
export function pageRoutes(server: FastifyInstance, clock: Clock) {
  const share = shareRenderings();
  const addPage = (path: string, render: RenderPage, policy = pagePolicy): void => {
    const root = "../".repeat(path.split("/").length - 2);
    server.get(path, { config: { permission: "read" } }, async (request, reply) => {
      const zone = zoneOfReader(request.headers.cookie);
      const at = { root, zone, nowMs: clock.now().utcMs };
      try {
        const rendered = await render(request, at);
        void reply.header("content-security-policy", policy);
        return await sendPage(request, reply, rendered);
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        const problem = asProblem(error);
        sayRetryAfter(reply, problem.retryAfterMs);
        void reply.code(problem.status).header("content-security-policy", pagePolicy);
        return sendPage(request, reply, renderRefusal(problem, at));
      }
    });
  };
  /** Readers of the same role and zone share what they ask for at once. */
  const addSharedPage = (
    path: string,
    render: (request: FastifyRequest, at: PageAt) => Promise<string>,
    policy?: string,
  ): void => {
    const renderShared: RenderPage = (request, at) =>
      share(`${request.identity?.role} ${at.zone} ${request.url}`, () =>
        render(request, { ...at, nowMs: clock.now().utcMs }),
      );
    addPage(path, renderShared, policy);
  };
  return { addPage, addSharedPage };
}

function sendPage(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  rendered: string | PageBody,
): FastifyReply {
  const { etag, body, gzipped } = typeof rendered === "string" ? pageBody(rendered) : rendered;
  void reply
    .type("text/html; charset=utf-8")
    .header("etag", etag)
    .header("vary", "accept-encoding, cookie");
  if (headers["if-none-match"] === etag && reply.statusCode === 200) return reply.code(304).send();
  return sendEncoded(headers, reply, body, gzipped);
}

function pageBody(text: string): PageBody {
  const body = Buffer.from(text);
  // Browsers keep ages current by themselves.
  const lasting = text.replaceAll(/(<time [^>]*>)[^<]*| data-now="\d+"|As of [\d:]+/g, "$1");
  const etag = `"${createHash("sha256").update(lasting).digest("base64url").slice(0, 16)}"`;
  return { etag, body, gzipped: gzipSync(body, { level: 1 }) };
}

function sendEncoded(
  headers: IncomingHttpHeaders,
  reply: FastifyReply,
  body: Buffer,
  gzipped: Buffer,
): FastifyReply {
  const encoding = new Negotiator({ headers }).encoding(["gzip", "identity"]);
  if (encoding !== "gzip") return reply.send(body);
  return reply.header("content-encoding", "gzip").send(gzipped);
}

/** Many pages may be open, and all of them have news at once. */
const leastBetweenMs = 250;
const mostShared = 64;

/**
 * Gives readers of the same page the same rendering, at most four times a second. It began after each of them asked, so
 * that none of them is shown what was before the news that it had.
 */
function shareRenderings() {
  const shared = new Map<string, () => Promise<PageBody>>();
  return (name: string, render: () => Promise<string>): Promise<PageBody> => {
    if (shared.size > mostShared) shared.clear();
    const found = shared.get(name) ?? shareReads(async () => pageBody(await render()));
    shared.set(name, found);
    return found();
  };
}

/** As renderings are shared. */
export function shareReads<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let beganMs = Number.NEGATIVE_INFINITY;
  let next: Promise<Value> | null = null;
  const begin = async (): Promise<Value> => {
    const waitMs = beganMs + leastBetweenMs - performance.now();
    await (waitMs > 0 ? setTimeout(waitMs) : null);
    next = null;
    beganMs = performance.now();
    return read();
  };
  return () => (next ??= begin());
}

/** For a browser, of a path that does not exist. It says nothing that needs a right to read. */
export function notFoundPage(path: string, nowMs: number): { body: string; policy: string } {
  const root = "../".repeat(path.split("/").length - 2);
  const detail = "There is no such page.";
  const at = { root, zone: utc.name, nowMs };
  return { body: renderRefusal({ status: 404, detail }, at), policy: pagePolicy };
}

function renderRefusal({ status, detail }: Problem, at: PageAt): string {
  const title = statusText(status);
  return page(
    { title, section: null, ...at },
    html`<div class="card">
      <h1>${title}</h1>
      <p>${detail}</p>
    </div>`,
  );
}

/** Serves the style and the modules of the pages. */
export function addAssets(server: FastifyInstance): void {
  const assets = loadAssets();
  server.get("/assets/:hash/:name", { config: { permission: "read" } }, (request, reply) => {
    const { hash, name } = Object(request.params);
    if (hash !== assets.hash) return reply.code(410).type("text/plain").send("another version\n");
    const asset = assets.find(String(name));
    if (!asset) return reply.code(404).type("text/plain").send("not found\n");
    void reply
      .type(asset.type)
      .header("cache-control", "private, max-age=31536000, immutable")
      .header("etag", asset.etag)
      .header("vary", "accept-encoding");
    if (request.headers["if-none-match"] === asset.etag) return reply.code(304).send();
    return sendEncoded(request.headers, reply, asset.body, asset.gzipped);
  });
}
