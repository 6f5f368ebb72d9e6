import { expect, it } from "vitest";
import { emptyStatus, serveWeb } from "../web/support/serve-web.ts";
import { openChromium, violationsOn } from "./support/chromium.ts";

const replica = {
  id: "a",
  address: "https://a.example.com",
  version: "1.0.0",
  configuration: "current",
  started_at: "2026-11-20T09:00:00.000Z",
  lease_ends_at: "2026-11-20T10:00:00.000Z",
  live: true,
  targets: 302,
} as const;

it.each([
  ["light", 1_280],
  ["dark", 390],
] as const)(
  "the overview lists 302 units of a replica, and keeps them open while they change: in %s, %i pixels wide",
  async (colorScheme, width) => {
    const all = Array.from({ length: 302 }, (_, index) => ({
      unit: `key:${index}`,
      keys: [`research-${index}`],
      since: "2026-11-20T09:00:00.000Z",
    }));
    let units = all.slice(1);
    const { address, clock } = await serveWeb({
      status: async () => ({ ...emptyStatus, replicas: [{ ...replica, units }] }),
    });
    const viewport = { width, height: 900 };
    const { page, problems } = await openChromium({ colorScheme, viewport, bypassCSP: true });
    await page.goto(address);
    await page.getByText("Units by replica").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("cell", { name: /^research-1, .* and 1 more$/ }).waitFor();
    expect(await violationsOn(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);

    units = all;
    clock.advance(10_000);
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    await page.getByRole("cell", { name: /^research-0, .* and 2 more$/ }).waitFor();
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Units by replica");
    expect(problems).toEqual([]);
  },
);
