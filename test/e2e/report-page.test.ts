import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { runProgram } from "../../src/cli/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { watchWorld } from "../support/watched-world.ts";
import { openChromium, violationsOn } from "./support/chromium.ts";

it("a report's file is shown in a browser without a request, on a phone and on paper", async () => {
  const world = await watchWorld({ servers: 4, regions: ["us", "eu"] });
  world.show(0, "occupied");
  await world.poll(70);
  const url = await world.address();
  const file = join(tempFolder(), "report.html");
  const asked = ["report", "--url", url, "--from", "2d", "--threshold", "0.5", "--output", file];
  const terminal = { out() {}, err() {}, isInteractive: false };
  expect(await runProgram([...asked, "--by", "server_name"], terminal)).toBe(0);
  expect(readFileSync(file, "utf8")).toContain("50.0% occupied");

  const { page, problems } = await openChromium({ viewport: { width: 390, height: 800 } });
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  const address = pathToFileURL(file).href;
  await page.goto(address);
  await expect.poll(() => page.title()).toContain("Occupancy of servers");
  const fits = () =>
    page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth");
  expect(await fits()).toBe(true);
  expect(await page.getByRole("img", { name: "Occupied share by hour and weekday" }).count()).toBe(
    1,
  );

  // On paper nothing is cut off, and colours are those of a light page.
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.setViewportSize({ width: 700, height: 1_000 });
  expect(await fits()).toBe(true);
  expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(
    "rgb(255, 255, 255)",
  );
  expect((await page.pdf({ format: "A4" })).length).toBeGreaterThan(10_000);
  expect(requests).toEqual([address]);
  expect(problems).toEqual([]);

  const { page: bare } = await openChromium({ bypassCSP: true });
  await bare.goto(address);
  expect(await violationsOn(bare)).toEqual([]);
});
