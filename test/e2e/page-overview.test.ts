import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { listSilences } from "../../src/api/operations/silences.ts";
import { freeAddress } from "../support/free-address.ts";
import { watchWorld, type WorldOptions } from "../support/watched-world.ts";
import { openChromium, runClock } from "./support/chromium.ts";

async function openWorld(
  options: WorldOptions = {},
  browser: Parameters<typeof openChromium>[0] = {},
) {
  const world = await watchWorld(options);
  await world.poll();
  const address = await world.address();
  const opened = await openChromium(browser);
  runClock(world);
  return { world, address, ...opened };
}

const isLive = (page: Page) => page.getByText("Live", { exact: true }).waitFor();

describe("the overview in a browser", () => {
  it("shows an error within a second of the poll that saw it", async () => {
    const { world, address, page, problems } = await openWorld();
    await page.goto(address);
    await isLive(page);
    world.show(0, "error");
    await world.poll();
    await page.getByRole("heading", { name: /server in error/ }).waitFor({ timeout: 1_000 });
    expect(await page.title()).toMatch(/server in error in us\/research · sandwatch/);
    expect(problems).toEqual([]);
  });

  it("acknowledges by keyboard, says so and returns to where the reader was", async () => {
    const { world, address, page, problems } = await openWorld();
    world.show(0, "error");
    world.show(1, "error");
    await world.poll();
    await page.goto(address);
    await isLive(page);
    const isFocused = () => page.evaluate("document.activeElement.textContent");
    while ((await isFocused()) !== "Acknowledge") await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Acknowledge" });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await isFocused()).toBe("Acknowledge");
    await page.keyboard.press("Enter");
    await dialog.waitFor();
    await page.keyboard.type("ann");
    await page.keyboard.press("Enter");
    await page.getByText("Acknowledged 2 incidents. Reminders stop.").waitFor();
    await page.getByText("acknowledged by ann").waitFor();
    const acknowledge = page.getByRole("link", { name: "Acknowledge", exact: true });
    expect(await acknowledge.count()).toBe(0);
    const { incidents } = await world.daemon().api(listIncidents, {});
    expect(incidents.map((each) => each.acknowledged_by)).toEqual(["ann", "ann"]);
    await page.getByRole("link", { name: "Unacknowledge" }).click();
    const undo = page.getByRole("dialog", { name: "Unacknowledge" });
    await undo.getByText("2 acknowledged incidents").waitFor();
    await undo.getByRole("button", { name: "Unacknowledge" }).click();
    await page.getByText("Acknowledgement withdrawn. Reminders go on.").waitFor();
    await acknowledge.waitFor();
    expect(problems).toEqual([]);
  });

  it("silences by a button, and says what is refused", async () => {
    const { world, address, page } = await openWorld();
    world.show(0, "error");
    await world.poll();
    await page.goto(address);
    await page.getByRole("link", { name: "Silence" }).click();
    const dialog = page.getByRole("dialog", { name: "Silence" });
    await dialog.getByLabel("Your name").fill("bob");
    await dialog.getByLabel("For").selectOption("4 hours");
    await dialog.getByLabel("Reason").fill(" ");
    await dialog.getByRole("button", { name: "Silence" }).click();
    await dialog
      .getByText(/reason/i)
      .last()
      .waitFor();
    await dialog.getByLabel("Reason").fill("moving <it>");
    await dialog.getByRole("button", { name: "Silence" }).click();
    await page.getByText(/^Silenced until 20 Nov 2026, 14:30/).waitFor();
    await page.getByText("moving <it>").waitFor();
    const { silences } = await world.daemon().api(listSilences, {});
    expect(silences).toMatchObject([{ author: "bob", reason: "moving <it>" }]);
  });

  it("says that the connection is lost, and heals when the daemon is back", async () => {
    const { world, page } = await openWorld({ http: { listen: await freeAddress() } });
    await page.goto(await world.address());
    await isLive(page);
    await world.daemon().stop();
    await page.getByText("Connection lost", { exact: true }).waitFor();
    await page.getByText(/\d s ago, trying again/).waitFor();
    world.show(0, "error");
    await world.restart();
    await world.poll();
    await world.address();
    await isLive(page);
    await page.getByRole("heading", { name: /server in error/ }).waitFor();
    expect(await page.getByText("Connection lost").count()).toBe(0);
  });

  it("shows a card that another configuration brings, and removes one that it takes away", async () => {
    const { page, address, problems } = await openWorld();
    const probes = '<section class="card" id="probes" data-live><h2>Probes</h2></section>';
    let hasProbes = true;
    await page.route(
      ({ pathname }) => pathname === "/",
      async (route) => {
        const headers = { ...route.request().headers(), "if-none-match": "another" };
        const response = await route.fetch({ headers });
        const body = await response.text();
        const card = hasProbes ? probes : "";
        await route.fulfill({
          response,
          body: body.replace(/(?=<section[^>]* id="silences")/, card),
        });
      },
    );
    await page.goto(address);
    await isLive(page);
    await page.getByRole("heading", { name: "Probes" }).waitFor();
    const change = (to: boolean) => {
      hasProbes = to;
      return page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    };
    await change(false);
    await page.getByRole("heading", { name: "Probes" }).waitFor({ state: "detached" });
    await change(true);
    await page.getByRole("heading", { name: "Probes" }).waitFor();
    expect(problems).toEqual([]);
  });

  it("asks for nothing while it is hidden, and is current when it is shown again", async () => {
    const { world, address, page, problems } = await openWorld();
    const open = new Set<string>();
    page.on("request", (request) => open.add(request.url()));
    page.on("requestfailed", (request) => open.delete(request.url()));
    page.on("requestfinished", (request) => open.delete(request.url()));
    await page.clock.install();
    await page.goto(address);
    await isLive(page);
    await expect.poll(() => [...open]).toEqual([expect.stringContaining("/api/v1/events")]);
    const show = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"))`);
    await show(true);
    await expect.poll(() => [...open]).toEqual([]);
    let asked = 0;
    page.on("request", () => (asked += 1));
    world.show(0, "error");
    await world.poll();
    await page.clock.runFor(60_000);
    expect(asked).toBe(0);
    await show(false);
    await page.getByRole("heading", { name: /server in error/ }).waitFor();
    expect(problems).toEqual([]);
  });

  it("keeps what the reader opened and where the focus is while it refreshes", async () => {
    const { world, address, page } = await openWorld();
    await page.goto(address);
    await isLive(page);
    await page.getByText("Totals by region and key").click();
    expect(await page.evaluate("document.activeElement.localName")).toBe("summary");
    world.show(0, "error");
    await world.poll();
    await page.getByRole("heading", { name: /server in error/ }).waitFor();
    await page.getByRole("cell", { name: "research", exact: true }).waitFor();
    expect(await page.evaluate("document.activeElement.localName")).toBe("summary");
  });

  it("shows ages by the server's clock where that of the browser is wrong", async () => {
    const { world, address, page } = await openWorld();
    world.show(0, "error");
    await world.poll();
    await page.addInitScript("{ const now = Date.now; Date.now = () => now() + 86_400_000 * 30; }");
    await page.goto(address);
    await isLive(page);
    const age = page.locator("#firing time").first();
    expect(await age.textContent()).toMatch(/^\d s$/);
    expect(await age.getAttribute("title")).toMatch(
      /^20 Nov 2026, 10:30:\d+ \(2026-11-20 09:30:\d+ UTC\)$/,
    );
  });
});
