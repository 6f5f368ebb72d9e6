import { describe, expect, it } from "vitest";
import { acknowledgeIncidents } from "../../src/api/operations/acknowledgements.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { Secret } from "../../src/lib/secret.ts";
import { sandboxAddress, sandboxesAddress } from "../../src/web/pages/servers-address.ts";
import { startListedService, type StatedSandbox } from "../support/listed-service.ts";
import { share } from "../support/share.ts";
import { watchWorld } from "../support/watched-world.ts";
import { serveWeb } from "./support/serve-web.ts";

const hostile = `<script>alert("1")</script>\u202e'&`;

const few: Readonly<Record<string, StatedSandbox>> = {
  "box-1": ["idle", ["idle", "occupied"], "Atlas"],
  "box-10": ["error", ["idle"]],
  lone: ["occupied", []],
  silent: ["absent", ["idle", "error"]],
  [hostile]: ["unheard", ["idle"], hostile],
};

const place = { region: "us", key: "research" };

/** The visible text of markup. */
function textOf(markup: string): string {
  return markup
    .replaceAll(/<(script|style|datalist|select|caption)[^>]*>.*?<\/\1>/gs, "")
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .replaceAll(" ,", ",");
}

async function watch(first = few) {
  const service = await startListedService(first);
  const world = await watchWorld({ baseUrl: service.baseUrl });
  await world.poll();
  const address = await world.address();
  const open = async (path: string) => {
    const response = await fetch(`${address}/${path}`);
    const markup = await response.text();
    const rows = markup.split("<tbody>")[1]?.split("</tbody>")[0] ?? "";
    const ids = Array.from(rows.matchAll(/href="sandbox\?[^>]*>([^<]*)<\/a/g), ([, id]) => id);
    const text = textOf(markup.split("<main")[1] ?? "");
    return { status: response.status, markup, text, ids };
  };
  return { world, service, open };
}

const unchanged = share(() => watch());

describe("the page of sandboxes", () => {
  it("lists the worst first, with servers, age and benchmark, and how many there are of each", async () => {
    const { open } = unchanged();
    const { ids, text, markup } = await open("sandboxes");
    expect(ids.slice(0, 2)).toEqual(["box-10", "silent"]);
    expect(text).toContain("all 5 error 2 unknown 1 occupied 1 idle 1 unobserved 0");
    expect(text).toContain("box-1 2 servers idle 0 s us / research 1 occupied, 1 idle 2 d Atlas");
    expect(text).toContain("lone 0 servers occupied 0 s us / research no servers 2 d");
    expect(markup).toContain('<a href="sandboxes" aria-current="page">Sandboxes</a>');
    expect(text).toContain("1 to 5 of 5");
  });

  it("finds, filters and sorts by what the address says, and keeps it in each link", async () => {
    const { open } = unchanged();
    expect((await open("sandboxes?q=BOX&status=idle")).ids).toEqual(["box-1"]);
    expect((await open("sandboxes?benchmark=Atlas")).ids).toEqual(["box-1"]);
    expect((await open("sandboxes?name=slack&sort=-id")).ids).toEqual(["silent", "box-1"]);
    const { markup } = await open("sandboxes?q=box&region=us&sort=created");
    const address = "sandboxes?q=box&amp;status=error&amp;region=us&amp;sort=created";
    expect(markup).toContain(`href="${address}"`);
    expect(markup).toContain('aria-sort="descending"');
    const wrong = await open("sandboxes?sort=name&tags=x");
    expect(wrong.text).toContain("no sort is called &quot;name&quot;; known: id");
    expect(wrong.text).toContain("no filter is called &quot;tags&quot;");
    expect((await open("sandboxes?q=nothing")).text).toContain("No sandbox matches.");
  });

  it("is led to by a search of servers, which does not find a sandbox without servers", async () => {
    const { open } = unchanged();
    const { text, markup } = await open("servers?q=lone");
    expect(text).toContain("1 sandbox matches: lone (occupied)");
    expect(markup).toContain(`href="${escaped(sandboxAddress({ ...place, sandbox_id: "lone" }))}"`);
    expect((await open("servers?q=box")).text).toContain("2 sandboxes match: ");
    const many = await open("servers?q=i&status=idle,error,occupied,unknown");
    expect(many.text).toMatch(/\d sandboxes match/);
    expect(many.markup).toContain("sandboxes?q=i&amp;status=occupied%2Cidle%2Cerror%2Cunknown");
    expect((await open("servers")).text).not.toContain("match");
    expect((await open("servers?q=nothing")).text).not.toContain("sandboxes match");
  });

  it("links servers to their sandboxes", async () => {
    const { open } = unchanged();
    const address = escaped(sandboxAddress({ ...place, sandbox_id: "box-1" }));
    expect((await open("servers")).markup).toContain(`href="${address}"`);
    const server = await open(`server?server=${encodeURIComponent("box-1/0")}`);
    expect(server.markup).toContain(`href="${address}"`);
  });

  it("shows whatever a service calls its sandboxes as text", async () => {
    const { open } = unchanged();
    const page = encodeURIComponent(hostile);
    const [list, one] = [
      await open("sandboxes"),
      await open(`sandbox?region=us&key=research&sandbox=${page}`),
    ];
    for (const { markup, status } of [list, one]) {
      expect(status).toBe(200);
      expect(markup).not.toContain("<script>alert");
      expect(markup).not.toContain("\u202e");
      expect(markup).toContain("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;");
    }
  });
});

function escaped(address: string): string {
  return address.replaceAll("&", "&amp;");
}

describe("the page of a sandbox", () => {
  it("shows its status, age, benchmark and servers, the worst first", async () => {
    const { open, world } = await watch();
    await world.poll();
    const box = await open(sandboxAddress({ ...place, sandbox_id: "box-1" }));
    expect(box.text).toContain("Sandbox box-1 idle for 5 s");
    expect(box.text).toContain("Age 2 d");
    expect(box.text).toContain("Servers 2: 1 occupied, 1 idle");
    expect(box.text).toMatch(/slack box-1\/1 occupied 5 s github box-1\/0 idle 5 s first/);
    expect(box.markup).toContain(`href="${escaped(sandboxesAddress({ benchmark: ["Atlas"] }))}"`);
    expect(box.markup).toContain("<title>sandbox box-1 · idle · sandwatch</title>");
    expect(box.text).toContain("sandwatch servers --sandbox box-1");
    const lone = await open(sandboxAddress({ ...place, sandbox_id: "lone" }));
    expect(lone.text).toContain("Servers none");
  });

  it("says whose status it is where the service states none of the sandbox", async () => {
    const { open } = unchanged();
    const { text } = await open(sandboxAddress({ ...place, sandbox_id: "silent" }));
    expect(text).toContain("error for 0 s the worst of its servers, as the service states no");
    const stated = await open(sandboxAddress({ ...place, sandbox_id: "box-10" }));
    expect(stated.text).not.toContain("the worst of its servers");
  });

  it("is not there for a sandbox that nothing is known of", async () => {
    const { open } = unchanged();
    for (const path of ["sandbox?region=us&key=research&sandbox=none", "sandbox?sandbox=none"]) {
      const { status, text } = await open(path);
      expect([path, status]).toEqual([path, 404]);
      expect(text).toContain("No known sandbox matches");
    }
    expect((await open("sandbox")).status).toBe(400);
  });

  it("shows what it was, and the changes of it and its servers, the latest first", async () => {
    const { open, world, service } = await watch({ a: ["idle", ["idle"]], b: ["idle", []] });
    await world.poll();
    service.list({ a: ["error", ["idle"]], b: ["idle", []] });
    await world.poll(2);
    const path = sandboxAddress({ ...place, sandbox_id: "a" });
    const { text, markup } = await open(path);
    expect(text).toContain("error for 5 s");
    expect(text).toContain("idle 10 s error 5 s unobserved");
    expect(markup).toMatch(/aria-label="The last 24 hours: idle 10 s, error 5 s, unobserved/);
    const [, history = ""] = text.split("Changes, incidents and notifications Time Kind Event");
    const changes = history.split(" UTC ").filter((event) => event.startsWith("change "));
    const [first, second, third] = changes;
    expect(first).toContain("idle -&gt; error in us/research");
    expect([second, third].join(" ")).toContain("change absent -&gt; idle in us/research");
    expect([second, third].join(" ")).toContain("github (a/0): absent -&gt; idle in us/research");
    expect(history).toContain("incident sandbox-error: firing (critical), notifies oncall");
    expect(text).toContain("sandwatch explain a");
    const week = await open(`${path}&range=7d`);
    expect(week.markup).toMatch(/"The last 7 days: idle 10 s, error 5 s, unobserved 6 d/);
    const wrong = await open(`${path}&range=7y`);
    expect(wrong.text).toContain("There is no range &quot;7y&quot;: this is 24h.");
    // As `explain`: by the id alone.
    expect((await open("sandbox?sandbox=a")).text).toContain("us / research");
  });

  it("is there for one that is gone, with what it was", async () => {
    const { open, world, service } = await watch({ a: ["error", ["idle"]], b: ["idle", []] });
    service.list({ b: ["idle", []] });
    await world.poll(4);
    const { text, status } = await open("sandbox?sandbox=a");
    expect(status).toBe(200);
    expect(text).toContain("Gone : it is not listed there any more.");
    expect(text).toContain("us / research");
    expect(text).toContain("change error -&gt; absent in us/research");
    expect(text).toMatch(/absent \d+ s/);
    expect(text).toContain("Servers None.");
  });

  it("names the other targets that list the same sandbox", async () => {
    const service = await startListedService({ a: ["occupied", ["idle"]] });
    const world = await watchWorld({ baseUrl: service.baseUrl, keys: ["research", "production"] });
    await world.poll();
    const path = sandboxAddress({ ...place, sandbox_id: "a" });
    const markup = await (await fetch(`${await world.address()}/${path}`)).text();
    const other = escaped(sandboxAddress({ region: "us", key: "production", sandbox_id: "a" }));
    expect(markup).toContain(`href="${other}"`);
    expect(textOf(markup)).toContain("Also listed in us / production, occupied");
    expect(textOf(markup)).toContain("absent -&gt; occupied in us/production");
  });

  it("counts servers that it does not list", async () => {
    const { open } = await watch({ full: ["idle", Array.from({ length: 120 }, () => "idle")] });
    const { text, markup } = await open(sandboxAddress({ ...place, sandbox_id: "full" }));
    expect(text).toContain("and 20 more servers");
    const [, servers = ""] = markup.split('id="servers"');
    expect(servers.split('id="timeline"')[0]?.match(/href="server\?/g)).toHaveLength(100);
  });

  it("offers what the role of its reader allows, and to acknowledge only what fires", async () => {
    const { world } = await watch();
    const { api: call, targets } = world.daemon();
    const roles = ["viewer", "operator", "caller"] as const;
    const settings = {
      anonymous: null,
      tokens: roles.map((role) => ({ name: role, role, token: new Secret(role) })),
      users: [],
      proxy: null,
    };
    const events = () => Promise.resolve({ events: [], after: "", hasMore: false });
    const { get } = await serveWeb({ settings, targets, api: { call, events } });
    const offered = async (role: string, id: string) => {
      const headers = { authorization: `Bearer ${role}` };
      const path = `/${sandboxAddress({ ...place, sandbox_id: id })}`;
      const { text } = await get(path, { headers });
      return ["sandbox/acknowledge", "sandbox/silence", "sandwatch lookup"].filter((each) =>
        text.includes(each),
      );
    };
    expect(await offered("viewer", "silent")).toEqual([]);
    expect(await offered("operator", "silent")).toEqual(["sandbox/acknowledge", "sandbox/silence"]);
    expect(await offered("operator", "box-1")).toEqual(["sandbox/silence"]);
    expect(await offered("caller", "box-1")).toEqual(["sandwatch lookup"]);
  });

  it("acknowledges what fires of it and its servers, and not of one whose id begins alike", async () => {
    const { open, world } = await watch({
      "box-1": ["idle", ["error", "error"]],
      "box-10": ["idle", ["error"]],
    });
    const query = "region=us&key=research&sandbox=box-1";
    const page = await open(`sandbox/acknowledge?${query}`);
    expect(page.text).toContain("2 firing incidents of sandbox box-1 in us/research");
    const sandbox = "--region us --key research --sandbox box-1 --author NAME";
    expect(page.text).toContain(`sandwatch ack ${sandbox}`);
    expect(page.markup).toContain('data-post="../api/v1/incidents/acknowledge"');
    const fields = { region: "us", key: "research", sandbox: "box-1" };
    expect(page.markup).toContain(JSON.stringify(fields).replaceAll('"', "&quot;"));
    const { api } = world.daemon();
    const own = sandboxAddress({ ...place, sandbox_id: "box-1" });
    expect((await open(own)).markup).toContain("sandbox/acknowledge");
    expect(await api(acknowledgeIncidents, { ...fields, author: "ann" })).toMatchObject({
      matched: 2,
    });
    const { incidents } = await api(listIncidents, { state: "firing" });
    const left = incidents.filter(({ acknowledged_by: author }) => author === null);
    expect(left.map((each) => each.sandbox_id)).toEqual(["box-10"]);
    expect((await open(own)).markup).not.toContain("sandbox/acknowledge");
    const none = await open("sandbox/acknowledge?region=us&key=research&sandbox=other");
    expect(none.text).toContain("there is nothing to acknowledge");
  });

  it("acts on hundreds of incidents at once, and counts them", async () => {
    const { open, world } = await watch({
      full: ["idle", Array.from({ length: 230 }, () => "error")],
    });
    const query = "region=us&key=research&sandbox=full";
    const { text } = await open(`sandbox/acknowledge?${query}`);
    expect(text).toContain("230 firing incidents of sandbox full");
    const { api } = world.daemon();
    const fields = { region: "us", key: "research", sandbox: "full" };
    await api(acknowledgeIncidents, { ...fields, author: "ann" });
    const { text: acknowledged } = await open(`sandbox/unacknowledge?${query}`);
    expect(acknowledged).toContain("230 acknowledged incidents of sandbox full");
    expect(acknowledged).toContain("and 30 more");
  });

  it("is led to from what is firing, and from its incident", async () => {
    const { open, world } = await watch({ lone: ["error", []], b: ["idle", ["idle"]] });
    const { markup, text } = await open("");
    const address = escaped(sandboxAddress({ ...place, sandbox_id: "lone" }));
    expect(text).toMatch(/^[^.]*sandbox lone in error in us\/research\s*\./);
    expect(markup).toContain(`<a class="button" href="${address}">Sandbox</a>`);
    expect(markup).toMatch(/class="bad" href="sandboxes\?status=error"/);
    const { incidents } = await world.daemon().api(listIncidents, {});
    const incident = await open(`incidents/${incidents[0]?.id}`);
    expect(incident.markup).toContain(`<a href="../${address}">lone</a>`);
    const { text: page } = await open(sandboxAddress({ ...place, sandbox_id: "lone" }));
    expect(page).toMatch(/Acknowledge .*sandbox lone us\/research sandbox-error .* firing/);
  });

  it("offers to silence it with its servers", async () => {
    const { open } = unchanged();
    const { text, markup } = await open("sandbox/silence?region=us&key=research&sandbox=a'b");
    expect(markup).toContain("&quot;sandbox_id&quot;:[&quot;a&#39;b&quot;]");
    expect(text).toContain("region=us key=research sandbox_id=a&#39;b");
    expect(text).toContain("--sandbox &#39;a&#39;\\&#39;&#39;b&#39;");
  });
});
