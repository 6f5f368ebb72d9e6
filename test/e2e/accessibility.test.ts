import { expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { sandboxAddress } from "../../src/web/pages/servers-address.ts";
import { watchHours } from "../support/watched-hours.ts";
import { openChromium, violationsOn } from "./support/chromium.ts";

it.each(["light", "dark"] as const)("axe objects to no page in %s", async (colorScheme) => {
  const world = await watchHours();
  const address = await world.address();
  const { incidents } = await world.daemon().api(listIncidents, { state: "firing" });
  const { id = "", sandbox_id: sandbox, server_id: server } = incidents[0] ?? {};
  const place = { ...world.target, sandbox_id: sandbox ?? "" };
  const { page } = await openChromium({ colorScheme, bypassCSP: true });
  const live = [
    "",
    "incidents",
    `incidents/${id}`,
    "servers",
    "servers?status=busy",
    "servers?q=none",
    `server?${new URLSearchParams({ server: server ?? "" }).toString()}`,
    "sandboxes",
    "sandboxes?status=busy",
    sandboxAddress(place),
  ];
  for (const path of live) {
    await page.goto(`${address}/${path}`);
    await page.getByText("Live", { exact: true }).waitFor();
    expect([path, await violationsOn(page)]).toEqual([path, []]);
  }
  for (const path of ["runbooks", "runbooks/region-down", "runbooks/none", "incidents/nothing22"]) {
    await page.goto(`${address}/${path}`);
    expect([path, await violationsOn(page)]).toEqual([path, []]);
  }
  await page.goto(`${address}/occupancy?from=2h&region=mars&region=us`);
  await page.locator("canvas").first().waitFor();
  await page.locator("#occupancy-filters[open]").waitFor();
  for (const summary of await page.locator("summary", { hasText: "Values" }).all())
    await summary.click();
  expect(await violationsOn(page)).toEqual([]);
  await page.goto(`${address}/incidents/${id}`);
  await page.getByRole("link", { name: "Silence" }).click();
  await page.getByRole("dialog").waitFor();
  expect(await violationsOn(page)).toEqual([]);
});
