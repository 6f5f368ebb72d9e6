import { expect, it } from "vitest";
import { watchWorld } from "../support/watched-world.ts";
import { openChromium } from "./support/chromium.ts";

it("an error is on the page within a second of the poll that saw it", async () => {
  const world = await watchWorld();
  await world.poll();
  const address = await world.address();
  const { page, problems } = await openChromium();
  await page.goto(address);
  await page.getByText("Live").waitFor();
  world.show(0, "error");
  await world.poll();
  world.clock.advance(1_000);
  await page.getByText("server-error").waitFor({ timeout: 1_000 });
  expect(problems).toEqual([]);
});
