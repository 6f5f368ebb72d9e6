import { expect, it } from "vitest";
import { listSilences } from "../../src/api/operations/silences.ts";
import type { WatchedTarget } from "../../src/polling/watched-target.ts";
import { watchWorld } from "../support/watched-world.ts";
import { serveFleet, watchServers, type PlainServer } from "../web/support/serve-fleet.ts";
import { openChromium, violationsOn } from "./support/chromium.ts";

const words = ["idle", "occupied", "idle", "idle"] as const;
const rtl = "\u202egithub\u2066";

/** 100,000 servers, of which three are in error. */
function manyServers(): WatchedTarget {
  const servers = Array.from({ length: 100_000 }, (_, at): PlainServer => ({
    id: `id-${String(at).padStart(6, "0")}`,
    name: `name-${at % 40}`,
    status: at % 40_000 === 39_999 || at === 7 ? "error" : (words[at % 4] ?? "idle"),
    forMs: 60_000 + at * 1_000,
    tags: at % 1_000 === 0 ? ["prod"] : [],
  }));
  return watchServers(servers);
}

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

it("sorts, filters by status and leads through pages by links", async () => {
  const { page, problems, rows, shows } = await openServers();
  const names = () => rows.locator("th a").allInnerTexts();
  await page.getByRole("link", { name: "error 3" }).click();
  await shows(3);
  expect(await page.getByRole("link", { name: "error 3" }).getAttribute("aria-current")).toBe(
    "true",
  );
  await page.getByRole("link", { name: "error 3" }).click();
  await page.getByRole("columnheader", { name: "Server" }).getByRole("link").click();
  await page.waitForURL("**/servers?sort=name");
  expect(new Set(await names())).toEqual(new Set(["name-0"]));
  expect(await page.getByRole("columnheader", { name: "Server" }).getAttribute("aria-sort")).toBe(
    "ascending",
  );
  await page.getByRole("columnheader", { name: "For" }).getByRole("link").click();
  await page.waitForURL("**/servers?sort=since");
  expect(await rows.first().innerText()).toContain("27 h");
  await page.getByRole("link", { name: "Last" }).click();
  await page.getByText("99,901 to 100,000 of 100,000").waitFor();
  expect(await page.getByRole("link", { name: "Next" }).count()).toBe(0);
  await page.goBack();
  await page.getByText("1 to 100 of 100,000").waitFor();
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

it("says what is wrong with an address, and shows hostile names as text", async () => {
  const servers = [
    { id: "a", name: "<img src=x onerror=alert(1)>", status: "error" },
    { id: "b", name: rtl },
    { id: "c", name: "n".repeat(10_000), tags: ["t".repeat(10_000)] },
    { id: `"'><script>alert(2)</script>`, name: null },
  ] as const;
  const path = "/servers?status=busy&color=red&sort=name";
  const { page, problems, rows } = await openServers([watchServers(servers)], path);
  expect(await page.getByText('no status is called "busy"').count()).toBe(1);
  expect(await page.getByText('no filter is called "color"').count()).toBe(1);
  expect(await rows.count()).toBe(4);
  expect(await page.getByRole("link", { name: "<img src=x onerror=alert(1)>" }).count()).toBe(1);
  expect(await rows.allInnerTexts()).not.toEqual(
    expect.arrayContaining([expect.stringContaining("\u202e")]),
  );
  for (const row of await rows.all()) {
    expect((await row.boundingBox())?.height).toBeLessThan(120);
  }
  for (const width of [360, 1440, 3840]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await page.evaluate<unknown>("document.documentElement.scrollWidth - innerWidth")).toBe(
      0,
    );
  }
  expect(problems).toEqual([]);
});

it("is useful without a script: a form, links and pages", async () => {
  const { address } = await serveFleet([manyServers()]);
  const { page } = await openChromium({ javaScriptEnabled: false });
  await page.goto(`${address}/servers?status=error`);
  await page.getByRole("searchbox").fill("id-0399");
  await page.getByRole("button", { name: "Search" }).click();
  expect(page.url()).toContain("status=error");
  expect(await page.getByRole("row").count()).toBe(2);
  await page.goto(`${address}/servers`);
  await page.getByRole("link", { name: "Next" }).click();
  expect(await page.getByText("101 to 200 of 100,000").count()).toBe(1);
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

it.each(["light", "dark"] as const)("axe objects to nothing in %s", async (colorScheme) => {
  const world = await watchWorld();
  world.show(0, "error");
  await world.poll();
  const { page } = await openChromium({ colorScheme, bypassCSP: true });
  const server = new URLSearchParams({ server: world.serverIds[0] ?? "" }).toString();
  for (const path of ["servers", "servers?status=busy", "servers?q=none", `server?${server}`]) {
    await page.goto(`${await world.address()}/${path}`);
    await page.getByText("Live", { exact: true }).waitFor();
    expect([path, await violationsOn(page)]).toEqual([path, []]);
  }
});
