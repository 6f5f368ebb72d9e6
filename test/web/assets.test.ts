import { describe, expect, it } from "vitest";
import { loadAssets } from "../../src/web/assets.ts";
import { serveWeb } from "./support/serve-web.ts";

const assets = loadAssets();
const nameOf = (link: string): string => link.split("/").at(-1) ?? "";

/** What a page loads: its style and its modules with all that they import. */
async function loadAll(get: (path: string) => Promise<{ readonly text: string }>) {
  const { text } = await get("/");
  const links = Array.from(
    text.matchAll(/(?:href|src)="(assets\/[^"]+)"/g),
    ([, link = ""]) => link,
  );
  const loaded = new Map<string, string>();
  const load = async (name: string): Promise<void> => {
    if (loaded.has(name)) return;
    const module = await get(`/${assets.path(name)}`);
    loaded.set(name, module.text);
    for (const [, found = ""] of module.text.matchAll(/from "\.\/([^"]+)"/g)) await load(found);
  };
  for (const link of links) await load(nameOf(link));
  return loaded;
}

describe("style and scripts of the pages", () => {
  it("are served as JavaScript, with all that they import", async () => {
    const { get } = await serveWeb();
    const loaded = await loadAll(get);
    expect([...loaded.keys()].toSorted()).toEqual(
      expect.arrayContaining(["live.js", "page.js", "style.css", "times.js"]),
    );
    const { headers, text } = await get(`/${assets.path("live.js")}`);
    expect(headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(text).not.toMatch(/\.ts"|: void/);
  });

  it("are kept by browsers under a name that changes with their content", async () => {
    const { get } = await serveWeb();
    const path = `/${assets.path("style.css")}`;
    const { headers } = await get(path);
    expect(headers.get("cache-control")).toBe("private, max-age=31536000, immutable");
    expect(headers.get("content-encoding")).toBe("gzip");
    const again = await get(path, { headers: { "if-none-match": headers.get("etag") ?? "" } });
    expect(again.status).toBe(304);
    const plain = await get(path, { headers: { "accept-encoding": "identity" } });
    expect([plain.headers.get("content-encoding"), plain.text]).toEqual([
      null,
      expect.stringContaining(":root"),
    ]);
    expect((await get("/assets/another/style.css")).status).toBe(410);
    expect((await get(`/${assets.path("nothing.js")}`)).status).toBe(404);
  });

  it("take less than 100 KB, compressed, all together", () => {
    const bytes = assets.names.map((name) => assets.find(name)?.gzipped.length ?? 0);
    expect(bytes.length).toBeGreaterThan(5);
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(100_000);
  });
});
