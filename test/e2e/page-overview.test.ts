import { describe, expect, it, onTestFinished } from "vitest";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";
import { openChromium } from "./support/chromium.ts";

/** Lets the clock of a world go on with that of the machine. */
function runClock({ clock }: WatchedWorld): void {
  let lastMs = Math.floor(performance.now());
  const timer = setInterval(() => {
    const nowMs = Math.floor(performance.now());
    clock.advance(nowMs - lastMs);
    lastMs = nowMs;
  }, 20);
  onTestFinished(() => clearInterval(timer));
}

async function openWorld(
  options: Parameters<typeof watchWorld>[0] = {},
  browser: Parameters<typeof openChromium>[0] = {},
) {
  const world = await watchWorld(options);
  await world.poll();
  const address = await world.address();
  const opened = await openChromium(browser);
  runClock(world);
  return { world, address, ...opened };
}

describe("the overview in a browser", () => {
  it("shows an error within a second of the poll that saw it", async () => {
    const { world, address, page, problems } = await openWorld();
    await page.goto(address);
    await page.getByText("Live").waitFor();
    world.show(0, "error");
    await world.poll();
    await page.getByRole("heading", { name: /server in error/ }).waitFor({ timeout: 1_000 });
    expect(await page.title()).toMatch(/server in error in us\/research · sandwatch/);
    expect(problems).toEqual([]);
  });
});
