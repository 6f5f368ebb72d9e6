import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Locator } from "playwright-core";
import { freePort } from "../bench/support/daemon.ts";

/**
 * Takes the pictures of the documents from a demo in which a region is down, and a server and a sandbox are in error.
 * Needs Chromium: `node generate/screenshots.ts`.
 */
const root = join(import.meta.dirname, "..");
const images = join(root, "docs/images");

/** Stands for the page of the sandbox that the demo shows in error. */
const sandboxInError = "sandbox";

/** Paths without a slash at the start. Heights are of the visible part. */
const pictures = [
  { file: "status-page", path: "", width: 1280, height: 1180, colorScheme: "light" },
  { file: "status-page-phone", path: "", width: 390, height: 844, colorScheme: "dark" },
  { file: "occupancy", path: "occupancy?from=7d", width: 1280, height: 830, colorScheme: "dark" },
  { file: "servers", path: "servers?region=us", width: 1280, height: 640, colorScheme: "light" },
  { file: "sandbox", path: sandboxInError, width: 1280, height: 1000, colorScheme: "light" },
  { file: "sandbox-phone", path: sandboxInError, width: 390, height: 844, colorScheme: "dark" },
] as const;

await using opened = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "sandwatch-screenshots-"));
opened.defer(() => rm(folder, { recursive: true }));
const faults = join(folder, "faults.yaml");
await writeFile(faults, "[{ kind: status, status: 503, region: eu, from: 60 }]");

const port = await freePort();
const options = ["demo", "--port", String(port), "--servers", "120", "--faults", faults];
const demo = spawn(process.execPath, [join(root, "src/cli.ts"), ...options], { stdio: "ignore" });
opened.defer(async () => {
  demo.kill("SIGINT");
  await once(demo, "exit");
});

const address = `http://127.0.0.1:${port}/`;
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
opened.defer(() => browser.close());

const watching = await browser.newPage();
const minutes = 60_000;
await untilServed(Date.now() + 2 * minutes);
await watching.goto(address);
const sandboxLink = "#firing a[href^='sandbox?']";
const wanted = `main:has(#headline:has-text('servers unobserved')):has(#firing li:nth-child(3)):has(${sandboxLink})`;
await watching.locator(wanted).waitFor({ timeout: 20 * minutes });
const sandboxAddress = await watching.locator(sandboxLink).first().getAttribute("href");
for (const { file, path, width, height, colorScheme } of pictures) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
  });
  const page = await context.newPage();
  // From the second time on the server knows the zone.
  for (const _ of ["first", "second"]) {
    await page.goto(address + (path === sandboxInError ? sandboxAddress : path));
    await page.getByText("Live", { exact: true }).waitFor();
  }
  const waiting = page.getByText("A large history is being read");
  await expectNone(waiting);
  if (path === "" || path.startsWith("occupancy"))
    await page.locator("#occupancy-plot canvas").waitFor();
  await page.screenshot({ path: join(images, `${file}.png`) });
  process.stdout.write(`docs/images/${file}.png\n`);
}

/** On a busy machine cards are filled later. */
async function expectNone(waiting: Locator): Promise<void> {
  while ((await waiting.count()) > 0) await waiting.page().waitForTimeout(500);
}

async function untilServed(deadlineMs: number): Promise<void> {
  while (Date.now() < deadlineMs) {
    const response = await fetch(address).catch(() => null);
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error("The demo did not start.");
}
