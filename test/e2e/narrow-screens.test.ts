import { expect, it } from "vitest";
import { addSilence } from "../../src/api/operations/silences.ts";
import { startPeer } from "../service/peer.ts";
import { watchWorld } from "../support/watched-world.ts";
import { openChromium, runClock } from "./support/chromium.ts";
import { brokenWords, watchExtremes } from "./support/extreme-world.ts";

const excess = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

/** Tables that are wider than the card around them allows. */
const overCards = `Array.from(document.querySelectorAll(".card table"))
  .filter((table) => table.checkVisibility() && table.getBoundingClientRect().right > table.closest(".card").getBoundingClientRect().right - 10)
  .map((table) => table.innerText)`;

/** Titles that are wider than their tile. */
const overTiles = `Array.from(document.querySelectorAll(".tile dt"))
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map(({ innerText }) => innerText)`;

it("no page is wider than a phone or breaks a word, whatever the names, receivers and servers are", async () => {
  const { world, address, paths } = await watchExtremes();
  runClock(world);
  const { page, problems } = await openChromium();
  for (const path of paths) {
    await page.goto(`${address}/${path}`);
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 800 });
      // A chart follows the width of the window a moment later.
      const wider = async () => [path, width, await page.evaluate(excess)];
      await expect.poll(wider, { timeout: 20_000 }).toEqual([path, width, 0]);
      expect([path, width, await page.evaluate(brokenWords)]).toEqual([path, width, []]);
    }
  }
  // Of what there is none, and of pages that were asked for while this went on.
  expect(problems.filter((problem) => !problem.includes("404"))).toEqual([]);
});

it("no page of usual names breaks a word on a phone", async () => {
  const world = await watchWorld({ servers: 6 });
  for (const server of [0, 1]) {
    world.show(server, "error");
    await world.poll(2);
    if (server === 0) world.show(0, "idle");
  }
  await world.poll(2);
  await world.daemon().api(addSilence, {
    match: { rule: "server-error", region: "us", server_id: world.serverIds[3] ?? "" },
    author: "ann",
    reason: "maintenance of the servers",
    duration: "2h",
  });
  await world.poll();
  const address = await world.address();
  const { page } = await openChromium();
  await page.goto(`${address}/servers`);
  const server = await page.locator("table.servers tbody th a").first().getAttribute("href");
  await page.goto(`${address}/sandboxes`);
  const sandbox = await page.locator("table.servers tbody th a").first().getAttribute("href");
  const id = await page.goto(`${address}/api/v1/incidents`).then(async (response) => {
    const [incident] = Object(await response?.json()).incidents;
    return String(incident.id);
  });
  const paths = ["", "incidents", `incidents/${id}/silence`, `incidents/${id}`, server, sandbox];
  for (const path of [...paths, "runbooks/server-error", "report?from=6h"]) {
    await page.goto(`${address}/${path}`);
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 800 });
      // A chart follows the width of the window a moment later.
      const wider = async () => [path, width, await page.evaluate(excess)];
      await expect.poll(wider, { timeout: 20_000 }).toEqual([path, width, 0]);
      expect([path, width, await page.evaluate(brokenWords)]).toEqual([path, width, []]);
    }
  }
});

it("nothing stands over the edge of its card on a phone or a tablet, and no time or reason of a history is broken", async () => {
  const { baseUrl } = await startPeer((_, response) => response.writeHead(500).end());
  const receivers = [{ name: "hook-of-the-night-shift", type: "webhook", url: `${baseUrl}/` }];
  const world = await watchWorld({
    keys: ["research", "production"],
    alerts: { receivers: receivers.map((each) => ({ ...each, group_wait: "0s" })) },
  });
  world.show(0, "error");
  await world.poll();
  world.fail({ kind: "status", status: 503, key: "production" });
  await world.poll(3);
  runClock(world);
  const address = await world.address();
  const { page } = await openChromium({ viewport: { width: 320, height: 800 } });
  await page.goto(`${address}/servers`);
  const server = await page.locator("table.servers tbody th a").first().getAttribute("href");
  const failures = async (): Promise<number> => {
    await page.goto(`${address}/${server}`);
    return page.getByText("did not accept").count();
  };
  await expect.poll(failures, { timeout: 20_000 }).toBeGreaterThan(0);
  expect(await page.evaluate(brokenWords)).toEqual([]);
  await page.goto(`${address}/`);
  expect(await page.getByText("HTTP 503").count()).toBeGreaterThan(0);
  expect(await page.evaluate(brokenWords)).toEqual([]);
  expect(await page.evaluate(overCards)).toEqual([]);

  for (const width of [768, 920]) {
    await page.setViewportSize({ width, height: 1_000 });
    for (const path of ["", "sandboxes", "servers"]) {
      await page.goto(`${address}/${path}`);
      const found = [await page.evaluate(brokenWords), await page.evaluate(overTiles)];
      expect([width, path, ...found]).toEqual([width, path, [], []]);
    }
  }
});

it("an incident has a line of its own on a phone", async () => {
  const world = await watchWorld();
  world.show(0, "error");
  await world.poll(2);
  const { page } = await openChromium({ viewport: { width: 320, height: 568 } });
  await page.goto(`${await world.address()}/incidents`);
  const box = await page.locator("td.incident").first().boundingBox();
  expect(box?.width).toBeGreaterThan(240);
});
