import { expect, it } from "vitest";
import { z } from "zod";
import { runbookNames } from "../../src/alerts/links.ts";
import { loadAssets } from "../../src/web/assets.ts";
import { watchWorld } from "../support/watched-world.ts";
import { startPrefixProxy } from "./support/prefix-proxy.ts";

const pathOf = (url: string): string => url.replace(/\?.*/, "");

it("behind a proxy at a sub-path the links of the page and of the API's document stay below it", async () => {
  const world = await watchWorld();
  world.show(0, "error");
  await world.poll();
  const base = await startPrefixProxy(await world.address());
  const followed = new Set([base]);
  for (const page of followed) {
    const response = await fetch(page, { redirect: "manual" });
    expect([page, response.status]).toEqual([page, 200]);
    const found = (await response.text()).matchAll(/(?:href|src|data-next)="(?!#|data:)([^"]*)"/g);
    const links = Array.from(found, ([, link = ""]) => link.replaceAll("&amp;", "&"));
    for (const link of links) {
      const { href } = new URL(link, page);
      // One of each path: lists can be filtered and sorted in many ways.
      if (!Array.from(followed, pathOf).includes(pathOf(href))) followed.add(href);
    }
  }
  const paths = Array.from(followed, (url) =>
    pathOf(url)
      .replace(base, "")
      .replace(loadAssets().hash, "HASH")
      .replace(/(incidents)\/\w{8}\b/, "$1/ID"),
  );
  expect(paths.toSorted()).toEqual([
    "",
    "-/healthy",
    "api/openapi.json",
    "assets/HASH/occupancy.js",
    "assets/HASH/page.js",
    "assets/HASH/servers.js",
    "assets/HASH/style.css",
    "incidents",
    "incidents/ID",
    "incidents/ID/acknowledge",
    "incidents/ID/silence",
    "incidents/acknowledge",
    "metrics",
    "occupancy",
    "report",
    "runbooks",
    ...runbookNames.map((name) => `runbooks/${name}`).toSorted(),
    "sandbox",
    "sandbox/acknowledge",
    "sandbox/silence",
    "sandboxes",
    "server",
    "server/silence",
    "servers",
  ]);
  const location = new URL("api/openapi.json", base);
  const document: unknown = await (await fetch(location)).json();
  const { servers } = z.object({ servers: z.array(z.object({ url: z.string() })) }).parse(document);
  const root = new URL(servers[0]?.url ?? "", location).href.replace(/\/$/, "");
  expect((await fetch(`${root}/api/v1/targets`)).status).toBe(200);
});
