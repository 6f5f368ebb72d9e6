import { connect } from "node:net";
import type { Socket } from "node:net";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { createWebServer } from "../../src/web/server.ts";
import type { Readiness } from "../../src/web/server.ts";
import { exposing } from "./support/exposing.ts";
import { emptyStatus } from "./support/status-view.ts";

const contentType = "text/plain; version=0.0.4; charset=utf-8";

async function start(
  render: () => Promise<Iterable<string>> = () => Promise.resolve(["a 1\n", "b 2\n"]),
  readiness: () => Promise<Readiness> = () => Promise.resolve({ ready: true }),
) {
  const errors: string[] = [];
  const web = createWebServer({
    metrics: exposing(render),
    readiness,
    status: () => Promise.resolve(emptyStatus),
    reload: {
      requestReload: () => ({ kind: "refused", reason: "not here" }),
      allowedHosts: [],
    },
    onError: (error) => errors.push(error.message),
  });
  const address = await web.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => web.close());
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(address + path, init);
    const { status, headers } = response;
    return { status, type: headers.get("content-type"), text: await response.text() };
  };
  return { web, address, errors, get };
}

describe("/metrics", () => {
  it("serves the exposition under its content type, piece after piece", async () => {
    const { get } = await start();
    expect(await get("/metrics")).toEqual({
      status: 200,
      type: contentType,
      text: "a 1\nb 2\n",
    });
  });

  it("renders afresh at each request and takes any text", async () => {
    let scrapes = 0;
    const { get } = await start(() => Promise.resolve([`scrapes ${++scrapes} "沙箱"\n`, ""]));
    await get("/metrics");
    expect((await get("/metrics?x=1")).text).toBe('scrapes 2 "沙箱"\n');
  });

  it("serves a large exposition whole", async () => {
    const piece = `${"x".repeat(1_000)}\n`;
    const { get } = await start(() => Promise.resolve(Array.from({ length: 5_000 }, () => piece)));
    expect((await get("/metrics")).text.length).toBe(5_000 * piece.length);
  });

  it("answers HEAD with the head alone", async () => {
    const { get } = await start();
    expect(await get("/metrics", { method: "HEAD" })).toEqual({
      status: 200,
      type: contentType,
      text: "",
    });
  });

  it("that cannot be rendered is a 500 without details, and is reported", async () => {
    const { get, errors } = await start(() => Promise.reject(new Error("T0PSECRET at /data")));
    const { status, text } = await get("/metrics");
    expect([status, text]).toEqual([500, "internal error, see the log\n"]);
    expect(errors).toEqual(["T0PSECRET at /data"]);
  });

  it("whose first piece fails is a 500 too, reported once", async () => {
    const { get, errors } = await start(() => Promise.resolve(failing(0)));
    const { status, text } = await get("/metrics");
    expect([status, text]).toEqual([500, "internal error, see the log\n"]);
    expect(errors).toEqual(["broken while rendering"]);
  });

  it("that fails half-way breaks off, so that nobody takes the half for the whole, and is reported", async () => {
    const { address, errors } = await start(() => Promise.resolve(failing(200)));
    const response = await fetch(`${address}/metrics`);
    await expect(response.text()).rejects.toThrow("terminated");
    expect(errors).toEqual(["broken while rendering"]);
  });
});

describe("health", () => {
  it("is well as long as the process serves", async () => {
    const { get } = await start();
    expect(await get("/-/healthy")).toMatchObject({ status: 200, text: "ok\n" });
    expect((await get("/-/healthy", { method: "HEAD" })).status).toBe(200);
  });

  it("is ready once it says so, and says before what is missing", async () => {
    let readiness: Readiness = { ready: false, reason: "2 of 3 targets wait" };
    const { get } = await start(undefined, () => Promise.resolve(readiness));
    expect(await get("/-/ready")).toMatchObject({
      status: 503,
      text: "not ready: 2 of 3 targets wait\n",
    });
    readiness = { ready: true };
    expect(await get("/-/ready")).toMatchObject({ status: 200, text: "ready\n" });
  });
});

describe("anything else", () => {
  it.each(["/metrics/", "/metric", "/-/", "/../etc/passwd", "/%2e%2e/x"])(
    "such as %s is not found, and says what there is",
    async (path) => {
      const { get, errors } = await start();
      const { status, text } = await get(path);
      expect(status).toBe(404);
      expect(text).toContain("/metrics");
      expect(errors).toEqual([]);
    },
  );

  it.each([
    [
      "POST",
      "/metrics?collect[]=a",
      "GET, HEAD",
      "There is no POST of this address, only GET and HEAD.\n",
    ],
    [
      "DELETE",
      "/-/healthy",
      "GET, HEAD",
      "There is no DELETE of this address, only GET and HEAD.\n",
    ],
    ["GET", "/-/reload", "POST", "There is no GET of this address, only POST.\n"],
  ])(
    "such as %s %s says by which methods it can be asked for",
    async (method, path, allow, text) => {
      const { address } = await start();
      const response = await fetch(address + path, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe(allow);
      expect(await response.text()).toBe(text);
    },
  );

  it.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])(
    "such as %s is the client's mistake, whatever it carries, and no error of ours",
    async (method) => {
      const { get, errors } = await start();
      for (const type of ["text/xml", "application/json", "text/plain"]) {
        const body = "{ not json";
        const { status } = await get("/metrics", {
          method,
          body,
          headers: { "content-type": type },
        });
        expect(status).toBeGreaterThanOrEqual(400);
        expect(status).toBeLessThan(500);
      }
      expect(errors).toEqual([]);
    },
  );

  it.each(["/:a(b", "/:a(b)", "/*", "/:"])("such as %s is there as little as any", async (path) => {
    const { get, errors } = await start();
    expect((await get(path)).status).toBe(404);
    expect(errors).toEqual([]);
  });

  it("such as an address that cannot be read is the client's mistake", async () => {
    const { get, errors } = await start();
    expect((await get("/%zz")).status).toBe(400);
    expect(errors).toEqual([]);
  });
});

it("rejects when the port is taken", async () => {
  const { address } = await start();
  const second = createWebServer({
    metrics: exposing(() => Promise.resolve([])),
    readiness: () => Promise.resolve({ ready: true }),
    status: () => Promise.resolve(emptyStatus),
    onError() {},
  });
  onTestFinished(() => second.close());
  const port = Number(new URL(address).port);
  await expect(second.listen({ host: "127.0.0.1", port })).rejects.toMatchObject({
    code: "EADDRINUSE",
  });
});

describe("closing", () => {
  it("ends an idle kept connection", async () => {
    const { web, address } = await start();
    const socket = await connectTo(address);
    socket.write("GET /-/healthy HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(socket, "data");
    const closed = once(socket, "close");
    await web.close();
    await closed;
    expect(socket.destroyed).toBe(true);
  });

  it("does not wait for a reader that stopped reading", async () => {
    const megabyte = `${"x".repeat(2 ** 20)}\n`;
    const { web, address } = await start(() =>
      Promise.resolve(Array.from({ length: 64 }, () => megabyte)),
    );
    const socket = await connectTo(address);
    socket.write("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(socket, "readable");
    await web.close();
    expect(socket.bytesRead).toBeLessThan(64 * 2 ** 20);
  });
});

function* failing(after: number): Iterable<string> {
  for (let piece = 0; piece < after; piece += 1) yield "x".repeat(10_000);
  throw new Error("broken while rendering");
}

async function connectTo(address: string): Promise<Socket> {
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}
