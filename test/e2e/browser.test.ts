import { spawn } from "node:child_process";
import { scryptSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { listSilences } from "../../src/api/operations/silences.ts";
import { assets } from "../../src/web/assets.ts";
import { openAccess, type AccessSettings } from "../../src/lib/access.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { watchWorld } from "../support/watched-world.ts";
import { serveWeb } from "../web/support/serve-web.ts";

// What pages do in a real browser: those of other origins, which attack, and the server's own.

/** Chromium, as far as the tests use it. Every `.test` name is this machine. */
async function startBrowser() {
  const child = spawn(
    "chromium",
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--remote-debugging-port=0",
      `--user-data-dir=${tempFolder()}`,
      "--host-resolver-rules=MAP *.test 127.0.0.1",
      "about:blank",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await once(child, "close");
  });
  for await (const line of createInterface(child.stderr)) {
    const [, port] = /^DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(line) ?? [];
    if (port !== undefined) return createPage(port);
  }
  throw new Error("Chromium did not start");
}

async function createPage(port: string) {
  const opened = await fetch(`http://127.0.0.1:${port}/json/new?about:blank`, { method: "PUT" });
  const { webSocketDebuggerUrl }: { webSocketDebuggerUrl: string } = JSON.parse(
    await opened.text(),
  );
  const socket = new WebSocket(webSocketDebuggerUrl);
  await once(socket, "open");
  const waiting = new Map<number, (result: unknown) => void>();
  const loaded = new Set<() => void>();
  socket.addEventListener("message", ({ data }) => {
    const message: { id?: number; method?: string; result?: unknown } = JSON.parse(String(data));
    if (message.id !== undefined) waiting.get(message.id)?.(message.result);
    if (message.method === "Page.loadEventFired") for (const each of loaded) each();
  });
  let sent = 0;
  const send = (method: string, params: object = {}): Promise<unknown> =>
    new Promise((resolve) => {
      sent += 1;
      waiting.set(sent, resolve);
      socket.send(JSON.stringify({ id: sent, method, params }));
    });
  await send("Page.enable");
  /** Gives the value of a script, once its promise is settled. */
  const run = async (script: string): Promise<unknown> => {
    const result = await send("Runtime.evaluate", {
      expression: script,
      awaitPromise: true,
      returnByValue: true,
    });
    return Object(result).result?.value;
  };
  /** Gives the text of the page that something leads to. */
  const load = async (begun: Promise<unknown>): Promise<string> => {
    const isLoaded = new Promise<void>((resolve) => loaded.add(resolve));
    await begun;
    await isLoaded;
    loaded.clear();
    return String(await run("document.body.innerText"));
  };
  return {
    run,
    open: (url: string): Promise<string> => load(send("Page.navigate", { url })),
    /** Runs a script that leads to another page. */
    follow: (script: string): Promise<string> => load(run(script)),
  };
}

/** Whatever a page can send; each gives what the page learns. */
function attacksOn(target: string): string {
  return `(async () => {
    const target = ${JSON.stringify(target)};
    const act = target + "/api/v1/silences";
    const json = JSON.stringify({ reason: "attack" });
    const learnt = [];
    const attempt = (request, init) =>
      fetch(request, { credentials: "include", ...init }).then(async (r) => learnt.push(r.type + await r.text()), () => {});
    const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"];
    for (const type of types) for (const mode of ["cors", "no-cors"]) {
      await attempt(act, { method: "POST", mode, body: json, headers: { "content-type": type } });
    }
    await attempt(target + "/-/reload", { method: "POST", mode: "no-cors" });
    await attempt(target + "/api/v1/targets", { mode: "cors" });
    await attempt(target + "/api/v1/targets", { mode: "no-cors" });
    navigator.sendBeacon(act, new Blob([json], { type: "text/plain" }));
    const settled = (element, parent = document.body) => new Promise((resolve) => {
      element.onload = () => { learnt.push("loaded " + element.tagName); resolve(); };
      element.onerror = resolve;
      parent.append(element);
    });
    for (const [tag, path] of [["img", "/metrics"], ["script", "/api/v1/targets"], ["script", "/metrics"]]) {
      await settled(Object.assign(document.createElement(tag), { src: target + path }));
    }
    await settled(Object.assign(document.createElement("link"), { rel: "stylesheet", href: target + ${JSON.stringify(`/${assets.path("style.css")}`)} }));
    await new Promise((resolve) => {
      const source = new EventSource(target + "/api/v1/events", { withCredentials: true });
      source.onopen = () => { learnt.push("events"); resolve(); };
      source.onerror = () => { source.close(); resolve(); };
    });
    for (const [url, enctype] of [[act, "text/plain"], [act, "multipart/form-data"], [target + "/-/reload", ""]]) {
      const frame = document.createElement("iframe");
      frame.name = "f" + Math.random();
      document.body.append(frame);
      const form = Object.assign(document.createElement("form"), { method: "POST", action: url, enctype, target: frame.name });
      form.append(Object.assign(document.createElement("input"), { name: '{"reason":"', value: '"}' }));
      document.body.append(form);
      const done = new Promise((resolve) => (frame.onload = resolve));
      form.submit();
      await done;
      try { learnt.push("frame " + frame.contentDocument.body.innerText); } catch {}
    }
    return learnt.filter((each) => each !== "opaque");
  })()`;
}

const salt = Buffer.from("salt");
const hash = scryptSync("wonderland", salt, 32, { N: 16, r: 1, p: 1 });
const alice = {
  name: "alice",
  role: "admin",
  passwordHash: { ln: 4, r: 1, p: 1, salt, hash },
} as const;
const withPassword: AccessSettings = {
  anonymous: "health",
  tokens: [],
  users: [alice],
  proxy: null,
};

/** A server that reports what is done. */
async function serve(
  settings: AccessSettings,
  at?: { readonly host: string; readonly port: number },
) {
  const done: string[] = [];
  const api = {
    call({ name }: { readonly name: string }) {
      done.push(name);
      return Promise.resolve({ word: "private" });
    },
    events() {
      done.push("events");
      return Promise.resolve({ events: [], after: "", hasMore: false });
    },
  };
  const requestReload = () => {
    done.push("reload");
    return { kind: "refused", reason: "only counted" } as const;
  };
  const { address } = await serveWeb({ settings, api, requestReload }, at);
  return { address, done };
}

/** Serves an empty page. */
async function serveAttacker() {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html").end("<body>attack</body>");
  }).listen(0, "127.0.0.1");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  await once(server, "listening");
  const address = server.address();
  return { port: typeof address === "object" && address ? address.port : 0, close };
}

it.each([
  ["another port", "127.0.0.1"],
  ["another site", "evil.test"],
])(
  "a page of %s does nothing and learns nothing, though the browser has the password",
  async (_, host) => {
    const { port } = await serveAttacker();
    const page = await startBrowser();
    for (const settings of [withPassword, openAccess]) {
      const { address, done } = await serve(settings);
      await page.open(address.replace("//", "//alice:wonderland@"));
      expect(await page.open(`${address}/api/v1/targets`)).toContain("private");
      expect(done.splice(0)).toContain("listTargets");
      expect(await page.open(`http://${host}:${port}/`)).toBe("attack");
      expect(await page.run(attacksOn(address))).toEqual([]);
      expect(done).toEqual([]);
    }
  },
);

it("a page whose name is made to lead here does nothing and learns nothing", async () => {
  const { port, close } = await serveAttacker();
  const page = await startBrowser();
  expect(await page.open(`http://rebound.test:${port}/`)).toBe("attack");
  await close();
  const { done } = await serve(openAccess, { host: "127.0.0.1", port });
  const script = `(async () => {
    const body = "{}";
    const headers = { "content-type": "application/json" };
    const read = await fetch("/api/v1/targets");
    const acted = await fetch("/api/v1/silences", { method: "POST", body, headers });
    return [read.status, acted.status, await read.text()];
  })()`;
  expect(await page.run(script)).toEqual([403, 403, expect.not.stringContaining("private")]);
  expect(done).toEqual([]);
});

it("the pages of incidents acknowledge and silence when their button is pressed", async () => {
  const world = await watchWorld();
  world.show(0, "error");
  await world.poll();
  const address = await world.address();
  const { api } = world.daemon();
  const page = await startBrowser();
  expect(await page.open(`${address}/incidents?rule=server-error`)).toContain("firing");
  await page.follow("document.querySelector('.id a').click()");
  const text = await page.follow("document.querySelector('.actions a').click()");
  expect(text).toContain("Your name");
  expect((await api(listIncidents, {})).incidents[0]?.acknowledged_by).toBeNull();
  const press = (fields: object): string => `
    Object.entries(${JSON.stringify(fields)}).forEach(([name, value]) =>
      (document.querySelector("[name=" + name + "]").value = value));
    document.querySelector("button").click();`;
  expect(await page.follow(press({ author: "ann" }))).toContain("firing, acknowledged by ann");
  await page.follow("document.querySelectorAll('.actions a')[1].click()");
  const silence = { author: "ann", reason: "moving", duration: "4h" };
  expect(await page.follow(press(silence))).toContain("silence by ann: moving - began");
  const { silences } = await api(listSilences, {});
  expect(silences).toMatchObject([{ reason: "moving", ends_at: "2026-11-20T13:30:05.000Z" }]);
  // What the API refuses is shown.
  await page.open(`${address}/incidents/silence?region=us`);
  await page.run(press({ author: "ann", reason: " " }));
  await expect
    .poll(() => page.run("document.querySelector('form [role=status]').innerText"))
    .toContain("reason");
});
