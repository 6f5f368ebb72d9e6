import { describe, expect, it } from "vitest";
import {
  acknowledgeIncident,
  acknowledgeIncidents,
  unacknowledgeIncident,
} from "../../src/api/operations/acknowledgements.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { expireSilence } from "../../src/api/operations/change-silence.ts";
import { addSilence, listSilences } from "../../src/api/operations/silences.ts";
import { showIncident } from "../../src/api/operations/show-incident.ts";
import type { AccessSettings } from "../../src/lib/access.ts";
import { Secret } from "../../src/lib/secret.ts";
import { share } from "../support/share.ts";
import { watchWorld } from "../support/watched-world.ts";
import { serveWeb } from "./support/serve-web.ts";

const rules = [
  {
    name: "server-error",
    on: "server",
    status: "error",
    summary: "<b>{server_name}</b> of {region}",
    runbook_url: "https://runbooks.example.com/{rule}?a=1&b=2",
  },
];

async function watchError() {
  const world = await watchWorld({ servers: 2, alerts: { rules } });
  world.show(0, "error");
  await world.poll();
  const { api } = world.daemon();
  const { incidents } = await api(listIncidents, {});
  const address = await world.address();
  const read = async (path: string) => {
    const response = await fetch(address + path);
    const text = (await response.text())
      .replaceAll(/\s+/g, " ")
      .replaceAll("> <", "><")
      .replaceAll(/<\/?(?:time|span)[^>]*>/g, "");
    return { status: response.status, headers: response.headers, text };
  };
  return { world, api, id: incidents[0]?.id ?? "", serverId: world.serverIds[0] ?? "", read };
}

const unchanged = share(watchError);

/** What the page's script would post. */
function postOf(text: string) {
  const [, path = "", fields = ""] = /data-post="([^"]*)" data-fields="([^"]*)"/.exec(text) ?? [];
  const written: unknown = JSON.parse(fields.replaceAll("&quot;", '"'));
  return { path, fields: Object(written) };
}

describe("the page of an incident", () => {
  it("shows what it is, what happened and the runbook, with names and links as text", async () => {
    const { id, serverId, read } = unchanged();
    const { status, headers, text } = await read(`/incidents/${id}`);
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'",
    );
    expect(text).toMatch(
      /<dt>sandbox<\/dt><dd><a href="\.\.\/sandbox\?region=us&amp;key=research&amp;sandbox=([-\da-f]{36})">\1<\/a>/,
    );
    expect(text).toMatch(/<h1>&lt;b&gt;[^<]+&lt;\/b&gt; of us<\/h1>/);
    const link = "https://runbooks.example.com/server-error?a=1&amp;b=2";
    for (const part of [
      "<dt>state</dt><dd>firing</dd>",
      `&amp;server=${serverId}">${serverId}</a></dd>`,
      "<dt>before</dt><dd>absent</dd>",
      "<dt>since</dt><dd>2026-11-20 09:30:05 UTC</dd>",
      "<dt>notified</dt><dd>oncall, 2026-11-20 09:30:05 UTC</dd>",
      `<a href="${link}">${link}</a>`,
      "<td>server-error: firing (critical), notifies oncall</td>",
      "<td>oncall accepted: firing</td>",
      `href="${id}/acknowledge" data-act`,
    ]) {
      expect(text).toContain(part);
    }
  });

  it("shows who acknowledged it, until when it is silenced, and that it is resolved", async () => {
    const { world, api, id, read } = await watchError();
    await api(acknowledgeIncident, { id, author: "ann", note: "<i>mine</i>" });
    await api(addSilence, { incident: id, author: "bob", reason: "moving", duration: "1h" });
    const { text } = await read(`/incidents/${id}`);
    expect(text).toContain("<dt>state</dt><dd>firing, acknowledged by ann</dd>");
    expect(text).toContain("<dt>note</dt><dd>&lt;i&gt;mine&lt;/i&gt;</dd>");
    expect(text).toContain("<dt>silenced until</dt><dd>2026-11-20 10:30:05 UTC</dd>");
    expect(text).toContain("silence by bob: moving");
    expect((await read(`/incidents/${id}/acknowledge`)).text).toContain(
      `<p class="bad">It was acknowledged by ann, 2026-11-20 09:30:05 UTC. <a href="../${id}/unacknowledge">`,
    );
    world.show(0, "idle");
    await world.poll();
    const resolved = (await read(`/incidents/${id}`)).text;
    expect(resolved).toContain("<dt>state</dt><dd>resolved (recovered), acknowledged by ann</dd>");
    expect(resolved).not.toContain("/acknowledge");
  });

  it("leads to pages that undo an acknowledgement and a silence, which say who did it and when", async () => {
    const { world, api, id, read } = await watchError();
    const fresh = (await read(`/incidents/${id}`)).text;
    expect(fresh).toContain(`<a class="button main" href="${id}/acknowledge"`);
    await api(acknowledgeIncident, { id, author: "ann", duration: "4h" });
    const added = { incident: id, author: "bob", reason: "moving", duration: "1h" };
    const silence = await api(addSilence, added);
    const { text } = await read(`/incidents/${id}`);
    expect(text).toContain("by ann, 2026-11-20 09:30:05 UTC, until 2026-11-20 13:30:05 UTC</dd>");
    // What was done already is not the first thing to do.
    expect(text).not.toContain("button main");
    expect(text).toContain(`<a class="button" href="${id}/unacknowledge" data-act`);
    const address = `../silences/${silence.id}`;
    expect(text).toContain(`<a href="${address}">by bob: moving</a>`);
    expect(text).toContain(`<a class="button" href="${address}/end" data-act`);

    const unacknowledge = (await read(`/incidents/${id}/unacknowledge`)).text;
    expect(unacknowledge).toContain("Acknowledged by ann, 2026-11-20 09:30:05 UTC.");
    const path = `../../api/v1/incidents/${id}/unacknowledge`;
    expect(postOf(unacknowledge)).toEqual({ path, fields: {} });
    const all = (await read("/incidents/unacknowledge?region=us")).text;
    expect(postOf(all)).toMatchObject({ fields: { region: "us" } });
    const change = (await read(`/silences/${silence.id}/change`)).text;
    expect(change).toContain("is silenced by bob until 2026-11-20 10:30:05 UTC: moving");
    expect(postOf(change).path).toBe(`../../api/v1/silences/${silence.id}`);
    const end = (await read(`/silences/${silence.id}/end`)).text;
    expect(postOf(end).path).toBe(`../../api/v1/silences/${silence.id}/expire`);

    await api(unacknowledgeIncident, { id, author: "cem" });
    world.clock.advance(60_000);
    await api(expireSilence, { id: silence.id, author: "dan" });
    const undone = (await read(`/incidents/${id}`)).text;
    expect(undone).toContain("acknowledgement withdrawn by cem");
    expect(undone).toContain(`<a class="button main" href="${id}/acknowledge"`);
    expect(undone).not.toContain("End silence");
    const ended = (await read(`/silences/${silence.id}`)).text;
    expect(ended).toContain("<dt>changed</dt><dd>by dan, 2026-11-20 09:31:05 UTC</dd>");
    expect((await read(`/silences/${silence.id}/end`)).text).toContain("It has ended.");
    expect((await read("/silences/none2345/end")).status).toBe(404);
  });

  it("that a message about a silence links to ends the silence", async () => {
    const { world, api, id, read } = await watchError();
    const added = { incident: id, author: "bob", reason: "moving", duration: "1h" };
    const silence = await api(addSilence, added);
    await world.poll();
    const { text } = await read(`/incidents/${id}`);
    expect(text).toContain("<dt>state</dt><dd>resolved (silenced)</dd>");
    expect(text).toContain(`<a class="button" href="../silences/${silence.id}/end" data-act`);
    expect(text).not.toContain("/acknowledge");
    const acknowledge = (await read(`/incidents/${id}/acknowledge`)).text;
    expect(acknowledge).toContain("It was silenced, and goes on as another one of");
    expect(acknowledge).toContain('<a href="../../incidents">');
    // A message about several links to their list. On the overview, silencing again is not what comes next.
    const list = (await read("/incidents?rule=server-error&region=us&key=research")).text;
    expect(list).toContain(`<a class="button" href="silences/${silence.id}/end" data-act`);
    const [, silenced = ""] = (await read("/")).text.split('<details id="silenced">');
    expect(silenced).toContain(`href="silences/${silence.id}/end" data-act >End silence</a >`);
    expect(silenced).not.toContain(">Silence</a");
  });

  it("shows the incident because of which nobody is notified of it", async () => {
    const world = await watchWorld();
    world.show(0, "error");
    world.fail({ kind: "status", status: 401 });
    await world.poll(4);
    const { incidents } = await world.daemon().api(listIncidents, {});
    const inhibited = incidents.find((each) => each.inhibited_by !== null);
    const list = await fetch(`${await world.address()}/incidents`);
    expect(await list.text()).toContain(">target us/research</a>");
    const response = await fetch(`${await world.address()}/incidents/${inhibited?.id}`);
    const by = inhibited?.inhibited_by;
    expect(await response.text()).toContain(`<a href="${by}">${by}</a>`);
  });

  it.each([
    ["nothing22", 404, "There is no incident nothing22."],
    ["%3Cscript%3E/acknowledge", 404, "There is no incident &lt;script&gt;."],
    ["silence", 400, "Incidents are selected by"],
    ["acknowledge?rule=$(reboot)", 400, "Incidents are selected by"],
    ["silence?rule=--all", 400, "Incidents are selected by"],
    ["acknowledge?all=true", 400, "Incidents are selected by"],
  ])("at /incidents/%s says with %i that there is none", async (path, status, detail) => {
    const page = await unchanged().read(`/incidents/${path}`);
    expect([page.status, page.text]).toEqual([status, expect.stringContaining(detail)]);
  });
});

describe("a page that confirms", () => {
  it("changes nothing by itself, and names the request that acknowledges an incident", async () => {
    const { world, api, id, read } = await watchError();
    const { text } = await read(`/incidents/${id}/acknowledge`);
    expect((await api(showIncident, { id })).acknowledged_by).toBeNull();
    expect(text).toContain(`<code>sandwatch ack ${id} --author NAME</code>`);
    expect(text).toContain("<form hidden");
    expect(text).toContain('<input name="author" required');
    const { path, fields } = postOf(text);
    const url = new URL(path, `${await world.address()}/incidents/${id}/acknowledge`);
    expect(url.pathname).toBe(`/api/v1/incidents/${id}/acknowledge`);
    await api(acknowledgeIncident, { id, author: "ann", ...fields });
    expect((await api(showIncident, { id })).acknowledged_by).toBe("ann");
  });

  it("says what a silence of an incident matches", async () => {
    const { api, id, serverId, read } = unchanged();
    const { text } = await read(`/incidents/${id}/silence`);
    const match = `rule=server-error region=us key=research server_id=${serverId}`;
    expect(text).toContain(`<code>${match}</code>`);
    expect(postOf(text)).toEqual({ path: "../../api/v1/silences", fields: { incident: id } });
    expect((await api(listSilences, {})).silences).toEqual([]);
  });

  it("does so for all incidents of a rule in a region and key", async () => {
    const { world, api, read } = await watchError();
    world.show(1, "error");
    await world.poll();
    const query = "?rule=server-error&region=us&key=research";
    const list = (await read(`/incidents${query}`)).text;
    expect(list).toContain("<title>2 firing · sandwatch</title>");
    expect(list).toContain(
      `href="incidents/acknowledge${query.replaceAll("&", "&amp;")}" data-act`,
    );
    const silencePage = (await read(`/incidents/silence${query}`)).text;
    expect(silencePage).toContain('data-next="../"');
    const silence = postOf(silencePage);
    const match = { rule: ["server-error"], region: ["us"], key: ["research"] };
    expect(silence).toEqual({ path: "../api/v1/silences", fields: { match, force: true } });
    const { text } = await read(`/incidents/acknowledge${query}`);
    expect(text).toContain("<strong>2 firing incidents</strong>");
    expect(text).toContain("sandwatch ack --rule server-error --region us --key research");
    const { path, fields } = postOf(text);
    expect(path).toBe("../api/v1/incidents/acknowledge");
    expect(fields).toEqual({ rule: "server-error", region: "us", key: "research" });
    const { matched } = await api(acknowledgeIncidents, { author: "ann", ...fields });
    expect(matched).toBe(2);
    const none = (await read("/incidents/acknowledge?region=eu")).text;
    expect(none).toContain("there is nothing to acknowledge");
    expect(none).not.toContain("<form");
    expect(postOf((await read("/incidents/acknowledge")).text).fields).toEqual({ all: true });
  });

  it("asks only those for their name who have none, and refuses roles that may not act", async () => {
    const users: AccessSettings = {
      anonymous: "viewer",
      tokens: (["viewer", "operator"] as const).map((role) => {
        return { name: `some-${role}`, role, token: new Secret(`token-of-${role}`) };
      }),
      users: [],
      proxy: null,
    };
    const { get } = await serveWeb({ settings: users });
    const read = async (role: string) => {
      const headers = { ...(role && { authorization: `Bearer token-of-${role}` }) };
      return (await get("/incidents/silence?rule=server-error", { headers })).text;
    };
    const viewer = await read("viewer");
    expect(viewer).toContain("some-viewer has the role viewer, which does not allow this.");
    expect(viewer).not.toContain("<form");
    // The browser asks for a password when what it posts is refused.
    for (const role of ["operator", ""]) {
      const text = await read(role);
      expect(text).toContain("<form");
      expect(text).not.toContain('name="author"');
    }
  });
});

it("what flaps and is well now is not said to be in error at present, nor are all said to flap of which one does", async () => {
  const flap = { changes: 1, within: "1h" };
  const flapRules = [{ name: "erring", on: "server", status: "error", flap }];
  const world = await watchWorld({ alerts: { rules: flapRules } });
  for (const status of ["error", "idle", "error"] as const) {
    world.show(0, status);
    await world.poll();
  }
  world.show(1, "error");
  await world.poll();
  const { api } = world.daemon();
  const { incidents } = await api(listIncidents, { state: "firing" });
  const id = incidents.find(({ flapping }) => flapping)?.id ?? "";
  const address = await world.address();
  const read = async (path: string) =>
    (await (await fetch(`${address}/${path}`)).text()).replaceAll(/>\s+</g, "><");
  expect(await read("")).toContain(" · 1 of them flapping");
  expect(await read(`incidents/${id}`)).toContain("<dt>status</dt><dd>error</dd>");
  world.show(0, "idle");
  await world.poll();
  expect(await read("")).not.toContain("of them flapping");
  const page = await read(`incidents/${id}`);
  expect(page).toContain("<dt>status then</dt><dd>error</dd>");
  expect(page).toMatch(/<h1>[^<]+ flapping, now idle in us\/research<\/h1>/);
  expect(page).toContain("<dt>state</dt><dd>firing, flapping, now idle</dd>");
  expect(page.replaceAll(/<\/?time[^>]*>/g, "")).toContain(
    "<dt>now</dt><dd>idle (since 2026-11-20 09:30:25 UTC)",
  );
});

it("a page that silences shows the command that does what its button does", async () => {
  const { id, read } = unchanged();
  const { text } = await read(`/incidents/${id}/silence`);
  expect(text).toMatch(/<select name="duration">\s*<option value="1h">/);
  expect(text.replaceAll(/<[^>]*>/g, "")).toContain(`sandwatch silence add ${id} --for 1h `);
});
