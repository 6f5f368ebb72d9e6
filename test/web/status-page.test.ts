import { describe, expect, it } from "vitest";
import { acknowledgeIncident, listIncidents } from "../../src/api/operations/incidents.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { renderStatusPage } from "../../src/web/status-page.ts";
import type { IncidentView, StatusView, TargetView } from "../../src/web/status-page.ts";
import { watchWorld } from "../support/watched-world.ts";
import { emptyStatus } from "./support/status-view.ts";

/** The page without the white space between its tags. */
function render(view: StatusView): string {
  return renderStatusPage(view).replaceAll(/>\s+</g, "><");
}

const up: TargetView = {
  region: "us",
  key: "research",
  state: "up",
  reason: null,
  partial: null,
  lastSuccessAtMs: Date.UTC(2026, 10, 20, 9, 29, 30),
  servers: { idle: 7, occupied: 5, error: 0, unknown: 0 },
};

const firing: IncidentView = {
  id: "3f2a91c0-8d6b-4e7f-9a51-c2d3e4f5a6b7",
  rule: "server-error",
  severity: "critical",
  state: "firing",
  region: "us",
  key: "research",
  subject: "github (8f14e45f)",
  startedAtMs: Date.UTC(2026, 10, 20, 9, 0),
  muted: false,
  notes: [],
};

describe("the status page", () => {
  it("shows each target with its state, its last successful poll and its servers by status", () => {
    const page = render({ ...emptyStatus, targets: [up] });
    expect(page).toContain("<td>us</td><td>research</td>");
    expect(page).toContain('<td class="good">up</td>');
    expect(page).toContain("2026-11-20 09:29:30 UTC");
    expect(page).toMatch(/>7<\/td>.*>5<\/td>.*>0<\/td>.*>0<\/td>/s);
  });

  it("says why a target is down, and shows no old counts", () => {
    const down: TargetView = { ...up, state: "down", reason: "timeout", servers: null };
    const page = render({ ...emptyStatus, targets: [down] });
    expect(page).toContain('<td class="bad">down: timeout</td>');
    expect(page).not.toContain(">7</td>");
  });

  it("counts firing incidents and targets that are down in the title", () => {
    const page = render({
      ...emptyStatus,
      targets: [{ ...up, state: "down" }],
      incidents: [firing, { ...firing, muted: true }, { ...firing, state: "pending" }],
    });
    expect(page).toContain("<title>1 firing · 1 down · sandwatch</title>");
  });

  it("names two hundred incidents and counts the rest", () => {
    const incidents = Array.from({ length: 203 }, () => firing);
    const page = render({ ...emptyStatus, incidents });
    expect(page.split("<td>server-error</td>")).toHaveLength(201);
    expect(page).toContain("and 3 more");
  });

  it("shows who acknowledged an incident, and that a silence suppresses one", async () => {
    const world = await watchWorld({ servers: 2 });
    const { api } = world.daemon();
    world.show(0, "error");
    await world.poll();
    const { incidents } = await api(listIncidents, {});
    await api(acknowledgeIncident, { id: incidents[0]?.id ?? "", author: "ann" });
    const match = { server_id: world.serverIds[1] ?? "" };
    await api(addSilence, { match, author: "bob", reason: "being <moved>", duration: "1h" });
    world.show(1, "error");
    await world.poll();
    const response = await fetch(await world.address());
    const page = (await response.text()).replaceAll(/>\s+</g, "><");
    expect(page).toContain('<td class="bad">firing, acknowledged by ann</td>');
    expect(page).toContain('<td class="quiet">firing, silenced</td>');
    expect(page).toContain("<title>1 firing · sandwatch</title>");
    expect(page.indexOf("acknowledged by ann")).toBeLessThan(page.indexOf("firing, silenced"));
    expect(page).toContain(
      `<td>server_id=${match.server_id}</td><td>bob</td><td>being &lt;moved&gt;</td>`,
    );
    expect(page).toContain("<td>2026-11-20 10:30:05 UTC</td>");
  });

  it("shows that an incident flaps, and its whole id, as ids of the same minute begin alike", async () => {
    const rules = [
      { name: "server-error", on: "server", status: "error", flap: { changes: 1, within: "1m" } },
    ];
    const world = await watchWorld({ servers: 1, alerts: { rules } });
    for (const status of ["error", "idle", "error"]) {
      world.show(0, status);
      await world.poll();
    }
    const { incidents } = await world.daemon().api(listIncidents, { state: "firing" });
    const id = incidents[0]?.id ?? "";
    const page = (await (await fetch(await world.address())).text()).replaceAll(/>\s+</g, "><");
    expect(page).toContain('<td class="bad">firing, flapping</td>');
    expect(page).toContain(`<td class="id">${id}</td>`);
  });

  it("says that nobody is notified when there is no receiver", () => {
    expect(render(emptyStatus)).toContain("nobody is notified");
  });

  it("shows what comes from outside as text, never as markup", () => {
    const subject = `<script>alert("1")</script> & 'co'`;
    const page = render({ ...emptyStatus, incidents: [{ ...firing, subject }] });
    expect(page).not.toContain("<script>");
    expect(page).toContain("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;co&#39;");
  });

  it("is served at / with the daemon's own state, and needs nothing from elsewhere", async () => {
    const world = await watchWorld({ servers: 3 });
    world.show(0, "error");
    await world.poll();
    world.fail({ kind: "status", status: 500 });
    await world.poll();
    const address = await world.daemon().serve();
    const response = await fetch(`${address}/`);
    const page = await response.text();
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'self'",
    );
    expect(page).toContain("down: server_error");
    expect(page).toContain("<td>server-error</td>");
    expect(page).toContain("<td>oncall</td>");
    const style = await fetch(`${address}/status-page.css`);
    expect(style.headers.get("content-type")).toContain("text/css");
  });
});
