import { expect, it } from "vitest";
import { listSilences } from "../../src/api/operations/silences.ts";
import { share } from "../support/share.ts";
import { watchWorld } from "../support/watched-world.ts";
import { serveFleet, watchServers, type PlainServer } from "../web/support/serve-fleet.ts";
import { openChromium } from "./support/chromium.ts";

const words = ["idle", "occupied", "idle", "idle"] as const;
/** 100,000 servers, of which three are in error. */
const manyServers = share(() => {
  const servers = Array.from({ length: 100_000 }, (_, at): PlainServer => ({
    id: `id-${String(at).padStart(6, "0")}`,
    name: `name-${at % 40}`,
    status: at % 40_000 === 39_999 || at === 7 ? "error" : (words[at % 4] ?? "idle"),
    forMs: 60_000 + at * 1_000,
    tags: at % 1_000 === 0 ? ["prod"] : [],
  }));
  return watchServers(servers);
});

async function openServers(targets = [manyServers()], path = "/servers") {
  const { address } = await serveFleet(targets);
  const opened = await openChromium();
  const { page } = opened;
  await page.goto(address + path);
  const rows = page.locator("table.servers tbody tr");
  const named = (id: string) => page.getByRole("row", { name: new RegExp(id) });
  /** Waits until the list has this many rows. */
  const shows = async (count: number): Promise<void> => {
    await expect.poll(() => rows.count(), { timeout: 10_000 }).toBe(count);
  };
  return { ...opened, address, rows, named, shows };
}

it("filters 100,000 servers while somebody types, and the address says it and brings it back", async () => {
  const { page, problems, named, shows, browser, address, rows } = await openServers();
  expect(await rows.count()).toBe(100);
  expect(await page.getByText("1 to 100 of 100,000").count()).toBe(1);
  const answered = page.waitForEvent("requestfinished");
  const beganMs = performance.now();
  await page.getByRole("searchbox").fill("ID-0999");
  await page.getByText("1 to 100 of 100", { exact: true }).waitFor();
  const shownMs = performance.now() - beganMs;
  const answeredMs = (await answered).timing().responseEnd;
  process.stdout.write(
    `a filter of 100,000 servers was answered in ${Math.round(answeredMs)} ms, and shown ${Math.round(shownMs)} ms after it was typed\n`,
  );
  await page.getByRole("searchbox").fill("id-099912");
  await shows(1);
  await named("name-32").waitFor();
  expect(page.url()).toBe(`${address}/servers?q=id-099912`);

  // Somebody else opens the same address.
  const other = await (await browser.newContext()).newPage();
  await other.goto(page.url());
  expect(await other.locator("table.servers tbody tr").count()).toBe(1);
  expect(await other.getByRole("searchbox").inputValue()).toBe("id-099912");

  await page.goBack();
  await page.getByText("1 to 100 of 100,000").waitFor();
  expect(await page.getByRole("searchbox").inputValue()).toBe("");
  await page.goForward();
  await shows(1);
  expect(problems).toEqual([]);
});

it("works by keyboard, and keeps the focus while the list is refreshed", async () => {
  const { page, problems, rows, shows } = await openServers();
  await page.keyboard.press("/");
  await page.keyboard.type("id-00000");
  await shows(10);
  await page.keyboard.type("7");
  await shows(1);
  const focused = () => page.evaluate<unknown>("document.activeElement?.name");
  expect(await focused()).toBe("q");
  await page.keyboard.press("Enter");
  expect(await rows.count()).toBe(1);
  await rows.first().getByRole("link").first().focus();
  expect(await page.evaluate<unknown>("document.activeElement?.textContent")).toBe("name-7");
  expect(problems).toEqual([]);
});

it("the page of a server follows what happens to it, and silences it", async () => {
  const world = await watchWorld();
  await world.poll();
  const [id = ""] = world.serverIds;
  const { page, problems } = await openChromium();
  await page.goto(`${await world.address()}/servers`);
  await page
    .getByRole("row", { name: new RegExp(id.slice(0, 8)) })
    .getByRole("link")
    .first()
    .click();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.locator(".now", { hasText: "idle for" }).waitFor();
  world.show(0, "error");
  await world.poll();
  world.clock.advance(1_000);
  await page.locator(".now", { hasText: "error for" }).waitFor();
  await page.getByText("server-error: opened").waitFor();
  await page.getByRole("img", { name: /^The last 24 hours: idle 5 s, error/ }).waitFor();
  await page.getByRole("link", { name: "7 days" }).click();
  await page.getByRole("img", { name: /^The last 7 days/ }).waitFor();

  await page.getByRole("link", { name: "Silence" }).press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Your name").fill("ann");
  await dialog.getByLabel("Reason").fill("being moved");
  await dialog.getByRole("button", { name: "Silence" }).press("Enter");
  await page.getByText("Silenced until").waitFor();
  await page.getByText("silence by ann: being moved").first().waitFor();
  const { silences } = await world.daemon().api(listSilences, {});
  expect(silences).toMatchObject([
    { match: { region: ["us"], key: ["research"], server_id: [id] } },
  ]);
  expect(problems).toEqual([]);
});
