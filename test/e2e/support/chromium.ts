import axe from "axe-core";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { afterAll, onTestFinished } from "vitest";
import type { WatchedWorld } from "../../support/watched-world.ts";

export interface OpenedPage {
  readonly page: Page;
  readonly browser: Browser;
  /** What the page did wrong so far: errors in the console, failed requests, reports of its Content-Security-Policy. */
  readonly problems: string[];
}

/** That of all tests of a file: to start one takes longer than most of them. */
let launched: Promise<Browser> | null = null;

afterAll(async () => {
  await (await launched)?.close();
  launched = null;
});

/** A page in Debian's Chromium, which shares nothing with others. Every `.test` name is this machine. */
export async function openChromium(options: BrowserContextOptions = {}): Promise<OpenedPage> {
  const browser = await (launched ??= chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP *.test 127.0.0.1"],
  }));
  const context = await browser.newContext({
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    ...options,
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("requestfailed", (request) => {
    // A page that goes away ends its stream.
    const reason = request.failure()?.errorText;
    if (reason !== "net::ERR_ABORTED") problems.push(`${request.url()}: ${reason}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) problems.push(`${response.url()}: ${response.status()}`);
  });
  return { page, browser, problems };
}

/** Lets the clock of a world go on with that of the machine. */
export function runClock({ clock }: WatchedWorld): void {
  let lastMs = Math.floor(performance.now());
  const timer = setInterval(() => {
    const nowMs = Math.floor(performance.now());
    clock.advance(nowMs - lastMs);
    lastMs = nowMs;
  }, 20);
  onTestFinished(() => clearInterval(timer));
}

/** What axe says against a page, in which its script is run. The page must have been opened with `bypassCSP`. */
export async function violationsOn(page: Page): Promise<unknown> {
  await page.evaluate(axe.source);
  return page.evaluate(
    `axe.run().then(({ violations }) =>
      violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))`,
  );
}
