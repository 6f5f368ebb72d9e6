import { describe, expect, it } from "vitest";
import { share } from "../support/share.ts";
import { watchHours } from "../support/watched-hours.ts";
import { openChromium } from "./support/chromium.ts";

const hours = share(() => watchHours());

async function openOccupancy(
  path: string,
  browser: Parameters<typeof openChromium>[0] = {},
  world = hours(),
) {
  const address = await world.address();
  const opened = await openChromium(browser);
  const { page } = opened;
  await page.goto(`${address}/${path}`);
  const chart = page.getByRole("group", { name: "Servers by status over time" });
  /** The range of the data that is drawn, in minutes. */
  const minutes = (): Promise<number> =>
    page.evaluate<number>(`(() => {
      const { start, to } = JSON.parse(document.querySelector("#occupancy-data").dataset.series);
      return Math.round((to - start[0]) / 60);
    })()`);
  const query = (): URLSearchParams => new URL(page.url()).searchParams;
  return { world, address, chart, minutes, query, ...opened };
}

describe("occupancy in a browser", () => {
  it("is a chart whose values can be read by keyboard and pointer", async () => {
    const { page, chart, problems } = await openOccupancy("occupancy?from=2h");
    await chart.locator("canvas").waitFor();
    await chart.focus();
    await page.keyboard.press("End");
    const said = chart.getByRole("status");
    await expect
      .poll(() => said.textContent())
      .toMatch(/: 3 occupied, 2 idle, 1 error, 0 unknown, 0 unobserved$/);
    await page.keyboard.press("Home");
    // In the reader's zone, which is an hour ahead.
    await expect.poll(() => said.textContent()).toMatch(/^11:00.11:05: /);
    for (let cell = 0; cell < 9; cell += 1) await page.keyboard.press("ArrowRight");
    await expect
      .poll(() => said.textContent())
      .toMatch(/0 occupied, 0 idle, 0 error, 0 unknown, 6 unobserved$/);
    await page.locator(".u-over").hover({ position: { x: 10, y: 50 } });
    expect(await page.locator(".tip").innerText()).toMatch(/11:0\d.11:\d\d[^]*occupied/i);
    expect(problems).toEqual([]);
  });

  it("becomes a chart on an overview that came before its data", async () => {
    const { page, address, chart, problems } = await openOccupancy("servers");
    const late = '<section class="card" id="occupancy" data-live><h2>Occupancy</h2></section>';
    await page.route(
      `${address}/`,
      async (route) => {
        const response = await route.fetch();
        const whole = await response.text();
        const body = whole.replace(/<section[^>]*id="occupancy"[^]*?<\/section>/, late);
        await route.fulfill({ response, body });
      },
      { times: 1 },
    );
    await page.goto(`${address}/`);
    await chart.locator("canvas").waitFor();
    expect(problems).toEqual([]);
  });

  it("hatches unobserved time", async () => {
    const { page, chart, problems } = await openOccupancy("occupancy?from=2h");
    await chart.locator("canvas").waitFor();
    // At 50 minutes of 120 there is nothing else, at 20 nothing of it.
    const colours = (at: number): Promise<number> =>
      page.evaluate<number>(`(() => {
        const over = document.querySelector(".u-over");
        const x = over.offsetLeft + over.clientWidth * ${at};
        const y = over.offsetTop + over.clientHeight * 0.35;
        const context = document.querySelector("canvas").getContext("2d");
        const { data } = context.getImageData(x * devicePixelRatio, y * devicePixelRatio, 12, 12);
        const found = new Set();
        for (let at = 0; at < data.length; at += 4) found.add(data.slice(at, at + 4).join());
        return found.size;
      })()`);
    // Reading pixels warns of its own cost.
    expect(problems).toEqual([]);
    expect(await colours(20 / 120)).toBe(1);
    expect(await colours(50 / 120)).toBeGreaterThan(2);
  });

  it("is zoomed by dragging, and the address, the back button and a link follow", async () => {
    const { page, address, chart, minutes, query, problems } =
      await openOccupancy("occupancy?from=2h");
    await chart.locator("canvas").waitFor();
    expect(await minutes()).toBe(120);
    const box = await page.locator(".u-over").boundingBox();
    if (!box) throw new Error("no chart");
    await page.mouse.move(box.x + box.width * 0.5, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await expect.poll(minutes).toBeLessThan(50);
    expect(query().get("from")).toMatch(/^2026-11-20T1[01]:\d[05]Z$/);
    const zoomed = page.url();

    // The address leads others to the same.
    const other = await page.context().newPage();
    await other.goto(zoomed);
    await other.getByRole("link", { name: "own range" }).waitFor();
    expect(await other.locator("#occupancy-data").getAttribute("data-series")).toBe(
      await page.locator("#occupancy-data").getAttribute("data-series"),
    );
    await other.close();

    await page.goBack();
    await expect.poll(minutes).toBe(120);
    await page.goForward();
    await expect.poll(minutes).toBeLessThan(50);
    await page.getByRole("link", { name: "Back to 24 h" }).click();
    await expect.poll(() => page.url()).toBe(`${address}/occupancy`);
    await expect.poll(minutes).toBe(1_440);
    expect(problems).toEqual([]);
  });

  it("is filtered by region and by time, without another page being loaded", async () => {
    const { page, minutes, query, problems } = await openOccupancy("occupancy?from=2h");
    await page.evaluate('document.body.dataset.test = "same"');
    await page.getByRole("link", { name: "eu", exact: true }).click();
    await expect.poll(() => query().get("region")).toBe("eu");
    await expect
      .poll(() => page.getByRole("link", { name: "eu", exact: true }).getAttribute("aria-current"))
      .toBe("true");
    expect(await page.locator("#days li").allInnerTexts()).toEqual([
      expect.stringContaining("eu / research"),
    ]);
    await page.getByLabel("From").fill("2026-11-20T12:00");
    await page.getByLabel("To", { exact: true }).fill("2026-11-20T12:30");
    await page.getByRole("button", { name: "Show" }).click();
    // Times are those of the reader's zone.
    await expect.poll(minutes).toBe(30);
    expect(Object.fromEntries(query())).toEqual({
      of: "servers",
      region: "eu",
      from: "2026-11-20T12:00",
      to: "2026-11-20T12:30",
      tz: "Europe/Berlin",
    });
    expect(await page.evaluate("document.body.dataset.test")).toBe("same");
    expect(problems).toEqual([]);
  });

  it("shows on the overview what its address chooses, and redraws after a poll", async () => {
    const { world, page, chart, problems } = await openOccupancy(
      "?from=2h",
      {},
      await watchHours(),
    );
    await chart.locator("canvas").waitFor();
    const series = () => page.locator("#occupancy-data").getAttribute("data-series");
    const before = await series();
    world.clock.advance(5 * 60_000);
    await world.daemon().runOnce();
    await expect.poll(series, { timeout: 20_000 }).not.toBe(before);
    await page.getByRole("link", { name: "7 d" }).click();
    await expect.poll(() => page.url()).toMatch(/\?from=7d$/);
    expect(problems).toEqual([]);
  });

  it("moves between days with arrow keys, and each leads to its day", async () => {
    const { page, query, problems } = await openOccupancy("occupancy");
    const last = page.locator("#days li").first().locator("a").last();
    await last.focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await expect.poll(() => query().get("from")).toBe("2026-11-20");
    expect(query().get("key")).toBe("research");
    expect(problems).toEqual([]);
  });

  it.each([
    [390, "light"],
    [1_440, "dark"],
    [3_840, "light"],
  ] as const)(
    "fits %i pixels in a %s scheme, and follows a change of both",
    async (width, colorScheme) => {
      const { page, chart, problems } = await openOccupancy("occupancy", {
        viewport: { width, height: 900 },
        colorScheme,
      });
      await chart.locator("canvas").waitFor();
      const fits = () =>
        page.evaluate(
          "document.documentElement.scrollWidth <= document.documentElement.clientWidth",
        );
      expect(await fits()).toBe(true);
      await page.setViewportSize({ width: 700, height: 900 });
      await page.emulateMedia({ colorScheme: colorScheme === "dark" ? "light" : "dark" });
      await expect.poll(fits).toBe(true);
      await expect
        .poll(() =>
          chart.evaluate(
            (element) => element.querySelector(".uplot")?.clientWidth === element.clientWidth,
          ),
        )
        .toBe(true);
      expect(problems).toEqual([]);
    },
  );
});
