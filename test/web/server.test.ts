import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { describe, expect, it, onTestFinished } from "vitest";
import { BusyError } from "../../src/lib/refused-error.ts";
import type { Readiness } from "../../src/web/health-routes.ts";
import { exposing, serveWeb } from "./support/serve-web.ts";

describe("health", () => {
  it("is good unless a loop is dead", async () => {
    let deadLoop: string | null = null;
    const { get } = await serveWeb({ deadLoop: () => deadLoop });
    expect(await get("/-/healthy")).toMatchObject({ status: 200, text: "ok\n" });
    expect((await get("/-/healthy", { method: "HEAD" })).status).toBe(200);
    deadLoop = "no poll for an hour";
    const text = "not healthy: no poll for an hour\n";
    expect(await get("/-/healthy")).toMatchObject({ status: 503, text });
  });

  it("is ready once it says so, and says before what is missing", async () => {
    let readiness: Readiness = { ready: false, reason: "2 of 3 targets wait" };
    const { get } = await serveWeb({ readiness: () => Promise.resolve(readiness) });
    const text = "not ready: 2 of 3 targets wait\n";
    expect(await get("/-/ready")).toMatchObject({ status: 503, text });
    readiness = { ready: true };
    expect(await get("/-/ready")).toMatchObject({ status: 200, text: "ready\n" });
  });
});

describe("a request for something else", () => {
  it("of a browser is answered with a page, from wherever it links to the overview", async () => {
    const { get } = await serveWeb();
    const { status, text } = await get("/nothing/here", { headers: { accept: "text/html,*/*" } });
    expect(status).toBe(404);
    expect(text).toContain("There is no such page.");
    expect(text).toContain('href="../"');
  });

  it.each(["/metrics/", "/metric", "/../etc/passwd", "/%2e%2e/x", "/-/ready.css", "/:a(b", "/*"])(
    "such as %s is answered with what there is",
    async (path) => {
      const { get, errors } = await serveWeb();
      const { status, text } = await get(path);
      expect([status, text, errors]).toEqual([404, expect.stringContaining("/metrics"), []]);
    },
  );

  it("is answered by a page for a browser, and as a problem for a program that reads JSON", async () => {
    const { get } = await serveWeb();
    const accepting = (accept: string) => get("/nothing/here", { headers: { accept } });
    const page = await accepting("text/html,application/xhtml+xml,*/*;q=0.8");
    expect([page.status, page.type]).toEqual([404, "text/html; charset=utf-8"]);
    expect(page.text).toContain("<h1>Not Found</h1>");
    expect(page.text).toContain('href="../assets/');
    const problem = await accepting("application/json");
    expect([problem.status, problem.type]).toEqual([404, "application/problem+json"]);
    expect((await accepting("*/*")).type).toContain("text/plain");
  });

  it.each([
    ["POST", "/metrics?collect[]=a", "GET, HEAD"],
    ["GET", "/-/reload", "POST"],
  ])("such as %s %s is answered with the allowed methods", async (method, path, allow) => {
    const { get } = await serveWeb();
    const { status, headers, text } = await get(path, { method });
    expect([status, headers.get("allow")]).toEqual([405, allow]);
    expect(text).toBe(`${method} is not allowed for this address, only ${allow}.\n`);
  });

  it("is the client's mistake, whatever body it carries", async () => {
    const { get, errors } = await serveWeb();
    for (const type of ["text/xml", "application/json", "text/plain"]) {
      const headers = { "content-type": type };
      const { status } = await get("/metrics", { method: "POST", body: "{ not json", headers });
      expect([400, 405, 415]).toContain(status);
    }
    expect((await get("/%zz")).status).toBe(400);
    expect(errors).toEqual([]);
  });
});

it("has a row in docs/api.md for every route that is served, and no other row", async () => {
  const served: string[] = [];
  const onFastify = (message: unknown): void => {
    if (!isInitialization(message)) return;
    message.fastify.addHook("onRoute", ({ method, url }) => {
      for (const each of [method].flat()) if (each !== "HEAD") served.push(`${each} ${url}`);
    });
  };
  subscribe("fastify.initialization", onFastify);
  onTestFinished(() => void unsubscribe("fastify.initialization", onFastify));
  await serveWeb();
  const document = readFileSync(new URL("../../docs/api.md", import.meta.url), "utf8");
  const documented = Array.from(
    document.matchAll(/^\| `((?:GET|POST) \/\S*)` +\|/gm),
    ([, route = ""]) => route.replaceAll(/\{(\w+)\}/g, ":$1"),
  );
  expect(served.toSorted()).toEqual(documented.toSorted());
});

function isInitialization(message: unknown): message is { readonly fastify: FastifyInstance } {
  return typeof message === "object" && message !== null && "fastify" in message;
}

it("rejects when the port is taken", async () => {
  const { address } = await serveWeb();
  const port = Number(new URL(address).port);
  const at = { host: "127.0.0.1", port };
  await expect(serveWeb({}, at)).rejects.toMatchObject({ code: "EADDRINUSE" });
});

it("does not wait for a reader that stopped reading when it closes", async () => {
  const megabyte = `${"x".repeat(2 ** 20)}\n`;
  const metrics = exposing(() => Array.from({ length: 64 }, () => megabyte));
  const { web, address } = await serveWeb({ metrics });
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await once(socket, "readable");
  await web.close();
  expect(socket.bytesRead).toBeLessThan(64 * 2 ** 20);
});

it("what fails because the server closes meanwhile is not reported", async () => {
  const failing = Promise.withResolvers<never>();
  const asked = Promise.withResolvers<void>();
  const { web, get, errors } = await serveWeb({
    readiness: () => (asked.resolve(), failing.promise),
  });
  const answer = get("/-/ready");
  await asked.promise;
  await Promise.all([web.close(), expect(answer).rejects.toThrow("fetch failed")]);
  failing.reject(new Error("the store is closed"));
  await setImmediate();
  expect(errors).toEqual([]);
});

it.each(["/", "/servers", "/api/v1/servers"])(
  "while PostgreSQL is away %s is answered with the reason, and that is not logged as an error",
  async (path) => {
    const away = (): Promise<never> =>
      Promise.reject(new BusyError("PostgreSQL cannot be reached.", 2_000, "unavailable"));
    const api = { call: away, events: away };
    const { get, errors } = await serveWeb({ api, status: away });
    const answer = await get(path);
    expect(answer.status).toBe(503);
    expect(answer.text).toContain("PostgreSQL cannot be reached.");
    expect(errors).toEqual([]);
  },
);
