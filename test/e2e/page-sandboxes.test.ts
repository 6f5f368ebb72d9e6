import { expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { listSilences } from "../../src/api/operations/silences.ts";
import { sandboxAddress } from "../../src/web/pages/servers-address.ts";
import { startListedService, type StatedSandbox } from "../support/listed-service.ts";
import { watchWorld } from "../support/watched-world.ts";
import { openChromium } from "./support/chromium.ts";

const long = `sandbox-${"x".repeat(300)}`;

const uuid = "e433ea96-d7d0-49bc-ada8-ce4b2c0836c7";

const few: Readonly<Record<string, StatedSandbox>> = {
  "box-1": ["idle", ["idle", "occupied", "unheard"], "Atlas"],
  "box-2": ["error", ["idle"]],
  lone: ["occupied", []],
  [uuid]: ["error", ["error", "idle"], "Atlas"],
  [long]: ["absent", ["idle", "error"], "b".repeat(300)],
};

async function watchFew() {
  const service = await startListedService(few);
  const world = await watchWorld({ baseUrl: service.baseUrl });
  await world.poll();
  const pathOf = (id: string) => sandboxAddress({ ...world.target, sandbox_id: id });
  return { service, world, pathOf, address: await world.address() };
}

it("the search of the overview leads to a sandbox, and its page to what can be done", async () => {
  const { service, world, address } = await watchFew();
  const { page, problems } = await openChromium();
  await page.goto(address);
  await page.getByRole("searchbox", { name: "Search servers" }).fill("lone");
  await page.keyboard.press("Enter");
  await page.getByText("1 sandbox matches").waitFor();
  await page.getByRole("link", { name: "lone", exact: true }).click();
  await page.getByRole("heading", { name: "Sandbox lone" }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.locator(".now", { hasText: "occupied for" }).waitFor();
  service.list({ ...few, lone: ["idle", ["error", "idle"]] });
  await world.poll();
  await page.locator(".now", { hasText: "idle for" }).waitFor();
  await page.getByRole("row", { name: /github lone\/0 error/ }).waitFor();
  await page.getByRole("cell", { name: "occupied -> idle in us/research", exact: true }).waitFor();

  await page.getByRole("link", { name: "Acknowledge", exact: true }).press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("1 firing incident", { exact: true }).waitFor();
  await dialog.getByLabel("Your name").fill("ann");
  await dialog.getByRole("button", { name: "Acknowledge" }).press("Enter");
  await page.getByText("Acknowledged 1 incident. Reminders stop.").waitFor();
  await page.getByRole("link", { name: "Acknowledge", exact: true }).waitFor({ state: "detached" });
  const { api } = world.daemon();
  const { incidents } = await api(listIncidents, { sandbox: "lone", state: "firing" });
  expect(incidents.map((each) => each.acknowledged_by)).toEqual(["ann"]);

  await page.getByRole("link", { name: "Silence", exact: true }).press("Enter");
  await dialog.getByLabel("Reason").fill("being moved");
  await dialog.getByRole("button", { name: "Silence" }).press("Enter");
  await page.getByText("Silenced until").waitFor();
  const { silences } = await api(listSilences, {});
  expect(silences).toMatchObject([
    { match: { region: ["us"], key: ["research"], sandbox_id: ["lone"] } },
  ]);
  expect(problems).toEqual([]);
});

it("filters the list while somebody types, and sorts it by links", async () => {
  const { address } = await watchFew();
  const { page, problems } = await openChromium();
  await page.goto(`${address}/sandboxes`);
  const rows = page.locator("table.servers tbody tr");
  expect(await rows.count()).toBe(5);
  await page.keyboard.press("/");
  await page.keyboard.type("box");
  await expect.poll(() => rows.count()).toBe(3);
  await page.keyboard.type("-2");
  await expect.poll(() => rows.count()).toBe(1);
  expect(page.url()).toBe(`${address}/sandboxes?q=box-2`);
  await page.goto(`${address}/sandboxes`);
  await page.getByRole("columnheader", { name: "Sandbox" }).getByRole("link").click();
  await page.waitForURL("**/sandboxes?sort=id");
  expect(await rows.first().innerText()).toContain("box-1");
  await page.getByRole("link", { name: "error 3" }).click();
  await expect.poll(() => rows.count()).toBe(3);
  expect(problems).toEqual([]);
});

it("has what matters of a sandbox in error on the first screen of a phone", async () => {
  const { address, pathOf } = await watchFew();
  const { page } = await openChromium({ viewport: { width: 320, height: 568 } });
  await page.goto(`${address}/${pathOf(uuid)}`);
  for (const each of [
    page.locator(".now"),
    page.getByRole("link", { name: "Acknowledge", exact: true }),
  ]) {
    const box = await each.boundingBox();
    expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(568);
  }
});
