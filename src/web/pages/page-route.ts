import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Negotiator from "negotiator";
import type { Clock } from "../../lib/clock.ts";
import { statusText } from "../../lib/http-status.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { asProblem, type Problem } from "../api/problem.ts";
import { assets } from "../assets.ts";
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

type RenderPage = (request: FastifyRequest, at: PageAt) => Promise<string> | string;

/** Adds pages for those who may read. What the API refuses is answered by a page, too. */
export function pageRoutes(server: FastifyInstance, clock: Clock) {
  return (path: string, render: RenderPage): void => {
    const root = "../".repeat(path.split("/").length - 2);
    server.get(path, { config: { permission: "read" } }, async (request, reply) => {
      const at = { root, nowMs: clock.now().utcMs };
      try {
        return await sendPage(reply, await render(request, at));
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        const problem = asProblem(error);
        return sendPage(reply.code(problem.status), renderRefusal(problem, at));
      }
    });
  };
}

function sendPage(reply: FastifyReply, text: string): FastifyReply {
  return reply
    .type("text/html; charset=utf-8")
    .header("content-security-policy", pagePolicy)
    .send(text);
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
    const encoding = new Negotiator(request).encoding(["gzip", "identity"]);
    if (encoding !== "gzip") return reply.send(asset.body);
    return reply.header("content-encoding", "gzip").send(asset.gzipped);
  });
}
