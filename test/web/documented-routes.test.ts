import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { createWebServer } from "../../src/web/server.ts";
import { exposing } from "./support/exposing.ts";
import { noApi } from "./support/no-api.ts";
import { emptyStatus } from "./support/status-view.ts";

/** Every route of a server with all that it can have, but what answers HEAD like GET. */
async function servedRoutes(): Promise<readonly string[]> {
  const routes: string[] = [];
  const listenIn = (message: unknown): void => {
    if (!isInitialization(message)) return;
    message.fastify.addHook("onRoute", ({ method, url }) => {
      for (const each of [method].flat()) if (each !== "HEAD") routes.push(`${each} ${url}`);
    });
  };
  subscribe("fastify.initialization", listenIn);
  onTestFinished(() => void unsubscribe("fastify.initialization", listenIn));
  const web = createWebServer({
    metrics: exposing(() => Promise.resolve([])),
    readiness: () => Promise.resolve({ ready: true }),
    status: () => Promise.resolve(emptyStatus),
    onError: () => {},
    api: noApi,
    reload: { requestReload: () => ({ kind: "refused", reason: "" }), allowedHosts: [] },
  });
  await web.listen({ host: "127.0.0.1", port: 0 });
  await web.close();
  return routes;
}

function isInitialization(message: unknown): message is { readonly fastify: FastifyInstance } {
  return typeof message === "object" && message !== null && "fastify" in message;
}

it("every route that is served has a row in docs/api.md, and every row is served", async () => {
  const document = readFileSync(join(import.meta.dirname, "../../docs/api.md"), "utf8");
  const documented = Array.from(
    document.matchAll(/^\| `((?:GET|POST) \/\S*)` +\|/gm),
    ([, route = ""]) => route.replaceAll(/\{(\w+)\}/g, ":$1"),
  );
  const served = await servedRoutes();
  expect(served.toSorted()).toEqual(documented.toSorted());
});
