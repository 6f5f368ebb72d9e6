import { describe, expect, it } from "vitest";
import { acknowledgeIncident, listIncidents } from "../../src/api/operations/incidents.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { renderStatusPage } from "../../src/web/pages/overview.ts";
import { listing, watchFleet } from "../support/fleet.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";
import { emptyStatus } from "./support/serve-web.ts";

async function pageOf(world: WatchedWorld): Promise<string> {
  const response = await fetch(await world.address());
  return withoutSpaces(await response.text());
}

function withoutSpaces(page: string): string {
  return page.replaceAll(/>\s+</g, "><").replaceAll(/<\/?time[^>]*>/g, "");
}

describe("the status page", () => {
  it("shows the targets, incidents and receivers, and loads nothing from elsewhere", async () => {
    const world = await watchWorld({ servers: 3 });
    world.show(0, "error");
    await world.poll();
    const up = await pageOf(world);
    expect(up).toContain('<td>us</td><td>research</td><td class="good">up</td>');
    expect(up).toContain("2026-11-20 09:30:05 UTC");
    expect(up).toContain(
      '<td class="number">2</td><td class="number">0</td><td class="number bad">1</td>',
    );
    world.fail({ kind: "status", status: 500 });
    await world.poll();
    const page = await pageOf(world);
    expect(page).toContain('<td class="bad">down: server_error, HTTP 500</td>');
    expect(page).toContain("<title>1 firing · 1 down · sandwatch</title>");
    expect(page).toContain("<td>server-error</td>");
    expect(page).toContain("<td>oncall</td>");
    const { headers } = await fetch(await world.address());
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'",
    );
    await world.poll(2);
    expect(await pageOf(world)).toContain('<td class="number quiet">–</td>');
  });

  it("shows who acknowledged an incident, and that a silence suppresses one", async () => {
    const world = await watchWorld({ servers: 2 });
    const { api } = world.daemon();
    world.show(0, "error");
    await world.poll();
    const { incidents } = await api(listIncidents, {});
    await api(acknowledgeIncident, { id: incidents[0]?.id ?? "", author: "ann" });
    const match = { server_id: world.serverIds[1] ?? "" };
    await api(addSilence, { match, author: "bob", reason: "being <moved> & 'co'", duration: "1h" });
    world.show(1, "error");
    await world.poll();
    const page = await pageOf(world);
    expect(page).toContain('<td class="bad">firing, acknowledged by ann</td>');
    expect(page).toContain('<td class="quiet">firing, silenced</td>');
    expect(page).toContain("<title>1 firing · sandwatch</title>");
    expect(page.indexOf("acknowledged by ann")).toBeLessThan(page.indexOf("firing, silenced"));
    const cells = [`server_id=${match.server_id}`, "bob", "being &lt;moved&gt; &amp; &#39;co&#39;"];
    expect(page).toContain(cells.map((cell) => `<td>${cell}</td>`).join(""));
    expect(page).toContain("<td>2026-11-20 10:30:05 UTC</td>");
  });

  it("shows that an incident flaps, and its whole id", async () => {
    const rules = [
      { name: "server-error", on: "server", status: "error", flap: { changes: 1, within: "1m" } },
    ];
    const world = await watchWorld({ servers: 1, alerts: { rules } });
    for (const status of ["error", "idle", "error"]) {
      world.show(0, status);
      await world.poll();
    }
    const { incidents } = await world.daemon().api(listIncidents, { state: "firing" });
    const page = await pageOf(world);
    expect(page).toContain('<td class="bad">firing, flapping</td>');
    expect(page).toContain(`<a href="incidents/${incidents[0]?.id}">${incidents[0]?.id}</a>`);
  });

  it("shows two hundred incidents and counts the others", () => {
    const { watched, poll } = watchFleet();
    const servers = Array.from({ length: 203 }, (_, index) => [`s${index}`, "error"] as const);
    poll(listing(Object.fromEntries(servers)));
    const page = withoutSpaces(
      renderStatusPage({ ...emptyStatus, targets: [watched] }, { root: "", nowMs: 0 }),
    );
    expect(page.split("<td>server-error</td>")).toHaveLength(201);
    expect(page).toContain("and 3 more");
    expect(page).toContain("nobody is notified");
  });
});
