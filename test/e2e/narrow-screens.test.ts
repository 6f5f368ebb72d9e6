import { expect, it } from "vitest";
import { watchWorld } from "../support/watched-world.ts";
import { openChromium, runClock, violationsOn } from "./support/chromium.ts";
import { brokenWords, watchExtremes } from "./support/extreme-world.ts";

const excess = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

it("no page is wider than a phone or breaks a word, whatever the names, receivers and servers are", async () => {
  const { world, address, paths } = await watchExtremes();
  runClock(world);
  const { page, problems } = await openChromium();
  for (const path of paths) {
    await page.goto(`${address}/${path}`);
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect([path, width, await page.evaluate(excess)]).toEqual([path, width, 0]);
      expect([path, width, await page.evaluate(brokenWords)]).toEqual([path, width, []]);
    }
  }
  // Of what there is none, and of pages that were asked for while this went on.
  expect(problems.filter((problem) => !problem.includes("404"))).toEqual([]);
});

it.each(["light", "dark"] as const)(
  "axe objects to no runbook and to no page of what there is not, in %s",
  async (colorScheme) => {
    const world = await watchWorld();
    const address = await world.address();
    const { page } = await openChromium({ colorScheme, bypassCSP: true });
    for (const path of [
      "runbooks",
      "runbooks/region-down",
      "runbooks/none",
      "incidents/nothing22",
    ]) {
      await page.goto(`${address}/${path}`);
      expect([path, await violationsOn(page)]).toEqual([path, []]);
    }
  },
);
