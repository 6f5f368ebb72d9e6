import { scryptSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { loadAssets } from "../../src/web/assets.ts";
import { openAccess, type AccessSettings } from "../../src/lib/access.ts";
import { serveWeb } from "../web/support/serve-web.ts";
import { openChromium } from "./support/chromium.ts";

// What pages do in a real browser: those of other origins, which attack, and the server's own.

/** Opens addresses and gives the text of the page; runs scripts in it. */
async function startBrowser() {
  const { page } = await openChromium();
  return {
    run: (script: string): Promise<unknown> => page.evaluate(script),
    open: async (url: string): Promise<string> => {
      await page.goto(url);
      return page.locator("body").innerText();
    },
    page,
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
    await settled(Object.assign(document.createElement("link"), { rel: "stylesheet", href: target + ${JSON.stringify(`/${loadAssets().path("style.css")}`)} }));
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
