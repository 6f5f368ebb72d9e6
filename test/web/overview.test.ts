import { describe, expect, it } from "vitest";
import { acknowledgeIncident } from "../../src/api/operations/acknowledgements.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import type { Status } from "../../src/fleet/model.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { Secret } from "../../src/lib/secret.ts";
import { renderOverview, type StatusView } from "../../src/web/pages/overview.ts";
import {
  judgeBy,
  listing,
  serverError,
  startMs,
  targetDown,
  watchFleet,
} from "../support/fleet.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";
import { emptyStatus, serveWeb } from "./support/serve-web.ts";

const at = { root: "", zone: "UTC", nowMs: startMs + 60_000 };

async function pageOf(world: WatchedWorld): Promise<string> {
  const response = await fetch(await world.address());
  return readable(await response.text());
}

function render(view: Partial<StatusView>, mayAct = true): string {
  return readable(runAtOnce(renderOverview({ ...emptyStatus, ...view }, [], { mayAct }, at)));
}

/** Without what only spaces it, and without the elements of times and numbers. */
function readable(page: string): string {
  return page
    .replaceAll(/<\/?(?:time|data)\b[^>]*>/g, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/> | (?=<)/g, (space) => space.trim());
}

function sentenceOf(page: string): string {
  return (
    /<h1>(.*?)<\/h1>/
      .exec(page)?.[1]
      ?.replaceAll(/<[^>]+>/g, " ")
      .trim() ?? ""
  );
}

function inError(count: number): ReturnType<typeof listing> {
  return listing(
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`s${index}`, "error"] as const),
    ),
  );
}

describe("the overview", () => {
  it("says whether anything is wrong, in words and in the title", async () => {
    const world = await watchWorld({ servers: 3 });
    expect(sentenceOf(await pageOf(world))).toBe("Not polled yet.");
    await world.poll();
    const well = await pageOf(world);
    expect(sentenceOf(well)).toBe("All is well.");
    expect(well).toContain("3 servers in 1 sandbox of 1 target: 3 idle.");
    world.show(0, "error");
    await world.poll();
    const page = await pageOf(world);
    expect(sentenceOf(page)).toMatch(/^1 \w+ server in error in us\/research\.$/);
    expect(page).toMatch(/<title>1 \w+ server in error in us\/research · sandwatch<\/title>/);
    expect(page).toContain("oncall was notified 0 s ago.");
  });

  it("counts servers by status, those of a stale target as unobserved, and shows why it is down", async () => {
    const world = await watchWorld({ servers: 3 });
    world.show(1, "occupied");
    await world.poll();
    expect(await pageOf(world)).toContain('aria-label="1 occupied, 2 idle"');
    world.fail({ kind: "status", status: 500 });
    await world.poll();
    expect(await pageOf(world)).toContain(
      '<td class="bad">down 0 s<small>HTTP 500, last servers shown</small></td>',
    );
    expect(sentenceOf(await pageOf(world))).toBe("us/research is down.");
    await world.poll(3);
    const page = await pageOf(world);
    expect(page).toContain('<td class="bad">down 15 s<small>HTTP 500</small></td>');
    expect(page).toContain('aria-label="3 unobserved"');
    expect(page).toContain("3 of 3 servers unobserved, the longest for 20 s.");
    expect(page).toMatch(/Unobserved<\/a\s*><\/dt><dd class="">3<small>servers<\/small><\/dd>/);
    expect(page).toMatch(/href="sandboxes\?status=unobserved"\s*>1 sandbox</);
    expect(page).toContain("3 servers unobserved");
  });

  it("shows incidents worst first, with who acknowledged them, and silenced ones apart", async () => {
    const world = await watchWorld({ servers: 2 });
    const { api } = world.daemon();
    world.show(0, "error");
    await world.poll();
    const { incidents } = await api(listIncidents, {});
    await api(acknowledgeIncident, { id: incidents[0]?.id ?? "", author: "ann" });
    expect(sentenceOf(await pageOf(world))).toBe(
      "1 known thing is acknowledged. Nothing else is firing.",
    );
    const match = { server_id: world.serverIds[1] ?? "" };
    await api(addSilence, { match, author: "bob", reason: "being <moved> & 'co'", duration: "1h" });
    world.show(1, "error");
    await world.poll();
    const page = await pageOf(world);
    expect(page).toContain("notified oncall 5 s ago · acknowledged by ann");
    expect(page).toContain("<summary>1 silenced incident</summary>");
    expect(page).toContain(
      `server_id=${match.server_id}<small>being &lt;moved&gt; &amp; &#39;co&#39;</small>`,
    );
    expect(page.indexOf("acknowledged by ann")).toBeLessThan(page.indexOf("nobody notified"));
  });

  it("shows the failure of a region as one line, and what it inhibits as a count", async () => {
    const world = await watchWorld({ regions: ["eu", "us"], keys: ["research", "production"] });
    await world.poll();
    world.fail({ kind: "status", status: 400, region: "eu" });
    await world.poll(2);
    const early = await pageOf(world);
    expect(sentenceOf(early)).toBe("eu: down for every key.");
    // Its targets are not stale yet.
    expect(early).not.toContain("servers unobserved");
    await world.poll(22);
    const page = await pageOf(world);
    expect(sentenceOf(page)).toBe("eu: down for every key.");
    expect(page.match(/<li class=/g)).toHaveLength(1);
    expect(page).toContain("HTTP 400 · 6 servers unobserved");
    expect(page).toContain('<a href="incidents">2 inhibited by these</a>');
    expect(page).toContain('href="./incidents/');
  });

  it("shows many incidents of a rule in a target as one line with a count and links", () => {
    const { watched, poll } = watchFleet();
    poll(inError(5_000));
    const page = render({ targets: [watched], rules: [serverError, targetDown] });
    expect(page).toContain("5,000 incidents");
    expect(page).toContain(
      'href="./incidents/acknowledge?rule=server-error&amp;region=us&amp;key=research" data-act',
    );
    expect(page.match(/<li class=/g)).toHaveLength(1);
    expect(page.length).toBeLessThan(20_000);
  });

  it("shows twenty lines and counts the others, as it does with targets", () => {
    const targets = Array.from({ length: 30 }, (_, index) => {
      const target = { region: `region-${index}`, key: "research" };
      const { watched, poll } = watchFleet(target, { judge: judgeBy(), id: index });
      poll(inError(1));
      poll("failed");
      return watched;
    });
    const page = render({ targets });
    expect(sentenceOf(page)).toMatch(/^30 things need attention\. 1 github server in error in/);
    expect(page.match(/<li class=/g)).toHaveLength(20);
    expect(page).toContain('<a href="incidents">and 10 more</a>');
    expect(page).toContain("0 of 30 up");
    expect(page).toContain("and 10 more down");
    expect(page).toContain("<td>region-29</td>");
  });

  it("never says that all is well while a server or sandbox is in error", async () => {
    const { watched, poll } = watchFleet();
    const box = { id: "box", status: "error", benchmark: null, createdAt: null } as const;
    const show = (status: Status, servers: Readonly<Record<string, Status>>): string => {
      const [sandbox] = listing(servers).sandboxes;
      poll({ complete: true, sandboxes: [{ ...box, servers: sandbox?.servers ?? [], status }] });
      return render({ targets: [watched], rules: [] });
    };
    const alone = show("error", {});
    expect(sentenceOf(alone)).toBe("No incident is firing, but 1 sandbox is in error.");
    expect(alone).toContain("<title>No incident is firing, but 1 sandbox is in error");
    expect(alone).toMatch(/<a class="bad" href="sandboxes\?status=error"\s*>1 sandbox</);
    const both = watchFleet();
    both.poll(listing({ a: "error" }), 30);
    const target = { ...both.watched, state: { ...both.watched.state, incidents: new Map() } };
    expect(sentenceOf(render({ targets: [target] }))).toBe(
      "No incident is firing, but 1 server is in error.",
    );
    expect(sentenceOf(show("idle", { a: "idle" }))).toBe("All is well.");
  });

  it("does not say so while the incident of a server in error is silenced, or pending", async () => {
    const rules = [{ name: "slow", on: "server", status: "error", for: "1m" }];
    const world = await watchWorld({ alerts: { rules } });
    await world.poll();
    world.show(0, "error");
    await world.poll();
    const pending = await pageOf(world);
    expect(sentenceOf(pending)).toMatch(/^No incident is firing, but .*1 server.* in error\.$/);
    expect(pending).toContain("1 pending.");
    const { api } = world.daemon();
    await api(addSilence, { match: { rule: "*" }, author: "a", reason: "b", duration: "1h" });
    await world.poll(13);
    const silenced = await pageOf(world);
    expect(sentenceOf(silenced)).toMatch(/^No incident is firing, but .*1 server.* in error\.$/);
    expect(silenced).toContain("1 silenced.");
  });

  it("names the server of which the fewest are idle", () => {
    const { watched, poll } = watchFleet();
    poll(listing({ a: "occupied", b: "occupied", c: "idle" }));
    expect(render({ targets: [watched] })).toContain(
      '<dd>1<small title="github" >github</small ></dd>',
    );
  });

  it("shows what flaps, and the runbook of a rule", async () => {
    const rules = [
      {
        name: "server-error",
        on: "server",
        status: "error",
        flap: { changes: 1, within: "1m" },
        runbook_url: "https://runbooks.example.com/{rule}?a=1&b=2",
      },
    ];
    const world = await watchWorld({ servers: 1, alerts: { rules } });
    for (const status of ["error", "idle", "error"]) {
      world.show(0, status);
      await world.poll();
    }
    const page = await pageOf(world);
    expect(page).toContain(" · flapping · ");
    expect(page).toContain('href="https://runbooks.example.com/server-error?a=1&amp;b=2"');
    world.show(0, "idle");
    await world.poll();
    const idle = await pageOf(world);
    expect(sentenceOf(idle)).toMatch(/^1 \w+ server flapping, now idle in us\/research\.$/);
    expect(idle).toContain("1 flapping or recovering, well now.");
    expect(idle).toContain("<h3>Flapping or recovering, well now</h3>");
    expect(idle).toContain(" · since 2026-11-20 09:30:20 UTC");
  });

  it("shows names from the service as text, cut and on one line", () => {
    const name = `<script>alert("1")</script>\u202E'${"x".repeat(10_000)}`;
    const { watched, poll } = watchFleet();
    const status: Status = "error";
    const servers = [{ id: "a", name, status, benchmark: null, tags: [] }];
    poll({
      complete: true,
      sandboxes: [{ id: "box", status, benchmark: null, createdAt: null, servers }],
    });
    const page = render({ targets: [watched] });
    expect(page).not.toContain("<script>alert");
    expect(page).toContain("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;");
    expect(page).not.toContain("\u202E");
    expect(page.length).toBeLessThan(20_000);
  });

  it("says what is missing where nothing is configured", () => {
    const page = render({});
    expect(sentenceOf(page)).toBe("No target is configured.");
    expect(page).toContain("None: nobody is notified.");
    const { watched, poll } = watchFleet();
    poll(inError(1));
    expect(render({ targets: [watched], receivers: [] })).toContain("oncall was notified");
  });
});

describe("actions on the overview", () => {
  const token = (role: "viewer" | "operator") => ({ name: role, role, token: new Secret(role) });
  const settings = {
    anonymous: "viewer",
    tokens: [token("viewer"), token("operator")],
    users: [],
    proxy: null,
  } as const;

  it("are offered to those whose role allows them", async () => {
    const { watched, poll } = watchFleet();
    poll(inError(1));
    const status = () => Promise.resolve({ ...emptyStatus, targets: [watched] });
    const { get } = await serveWeb({ settings, status });
    const offered = async (headers: Record<string, string>) =>
      Array.from(
        (await get("/", { headers })).text.matchAll(/data-act\s*>(\w+)/g),
        ([, text]) => text,
      );
    expect(await offered({})).toEqual([]);
    expect(await offered({ authorization: "Bearer viewer" })).toEqual([]);
    expect(await offered({ authorization: "Bearer operator" })).toEqual(["Acknowledge", "Silence"]);
  });
});

describe("a page that is open", () => {
  it("is not sent again as long as it says the same", async () => {
    const world = await watchWorld();
    await world.poll();
    const address = await world.address();
    const first = await fetch(address);
    const headers = { "if-none-match": first.headers.get("etag") ?? "" };
    world.clock.advance(2_000);
    expect((await fetch(address, { headers })).status).toBe(304);
    world.show(0, "error");
    await world.poll();
    expect((await fetch(address, { headers })).status).toBe(200);
  });

  it("is read together for all that ask at once, at whatever address, and not before they asked", async () => {
    let rendered = 0;
    const status = () => {
      rendered += 1;
      return Promise.resolve({ ...emptyStatus, receivers: [`receiver-${rendered}`] });
    };
    const { get } = await serveWeb({ status });
    const beganMs = performance.now();
    await Promise.all(Array.from({ length: 50 }, (_, reader) => get(`/?x=${reader % 25}`)));
    // Four times a second, however long a busy machine takes.
    expect(rendered).toBeLessThanOrEqual(2 + (performance.now() - beganMs) / 250);
    const before = rendered;
    expect((await get("/")).text).toContain(`receiver-${before + 1}`);
  });
});
