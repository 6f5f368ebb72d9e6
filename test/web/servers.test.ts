import { describe, expect, it } from "vitest";
import { listChanges } from "../../src/api/operations/changes.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { serverAddress, serversAddress } from "../../src/web/pages/servers-address.ts";
import { startPeer } from "../service/peer.ts";
import { watchWorld } from "../support/watched-world.ts";
import { serveFleet, watchServers, type PlainServer } from "./support/serve-fleet.ts";

const hostile = `<script>alert("1")</script>\u202e'&\u0000`;

const fleet: readonly PlainServer[] = [
  { id: "a1", name: "github", status: "error", forMs: 240_000, tags: ["prod"] },
  { id: "a2", name: "git", status: "occupied", forMs: 7_200_000 },
  { id: "a3", name: "jira", benchmark: "Atlas" },
  { id: "a4", name: null, status: "unknown", tags: [hostile] },
  { id: "..", name: hostile },
];

/** The visible text of markup. */
function textOf(markup: string): string {
  return markup
    .replaceAll(/<(script|style|datalist|select|caption)[^>]*>.*?<\/\1>/gs, "")
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ");
}

async function serve(targets = [watchServers(fleet)]) {
  const { get } = await serveFleet(targets);
  return async (path: string) => {
    const { text, status } = await get(path);
    const rows = text.split("<tbody>")[1]?.split("</tbody>")[0] ?? "";
    const names = Array.from(rows.matchAll(/<a[^>]*>([^<]*)<\/a>/g), ([, name]) => name);
    return { markup: text, status, names, text: textOf(text.split("<main")[1] ?? "") };
  };
}

describe("the page of servers", () => {
  it("lists the worst first, with the time in the status and how many there are of each", async () => {
    const { names, text } = await (await serve())("/servers");
    expect(names.slice(0, 3)).toEqual(["github", "unnamed", "git"]);
    expect(text).toContain("github a1 error 4 min us / research box-a1 prod");
    expect(text).toContain("all 5 error 1 unknown 1 occupied 1 idle 2 unobserved 0");
    expect(text).toContain("1 to 5 of 5");
  });

  it("finds and filters by what the address says, and keeps it in each link", async () => {
    const open = await serve([watchServers(fleet), watchServers([{ id: "b" }], { region: "eu" })]);
    expect((await open("/servers?q=GIT&status=occupied")).names).toEqual(["git"]);
    expect((await open("/servers?tag=prod")).names).toEqual(["github"]);
    expect((await open("/servers?name=jira&name=git&sort=name")).names).toEqual(["git", "jira"]);
    expect((await open("/servers?sort=-name&region=us&key=research")).names[0]).toBe("jira");
    const { markup } = await open("/servers?q=git&region=us&sort=-since");
    expect(markup).toContain('href="servers?q=git&amp;status=error&amp;region=us&amp;sort=-since"');
    expect(markup).toContain('<option value="us" selected>');
    expect(markup).toContain('name="sort" value="-since"');
    expect(markup).toMatch(
      /aria-sort="ascending"><a href="servers\?q=git&amp;region=us&amp;sort=since"/,
    );
  });

  it("says what is wrong with an address, and shows the rest", async () => {
    const open = await serve();
    const { names, text, status } = await open(
      "/servers?stauts=error&status=busy,occupied&region=su&sort=age&page=x&q=git",
    );
    expect([status, names]).toEqual([200, ["git"]]);
    expect(text).toContain("no filter is called &quot;stauts&quot;");
    expect(text).toContain("did you mean &quot;status&quot;?");
    expect(text).toContain("no status is called &quot;busy&quot;");
    expect(text).toContain("no region is called &quot;su&quot;; known: us");
    expect(text).toContain("no sort is called &quot;age&quot;");
    expect(text).toContain("There is no page &quot;x&quot;");
    const long = await open(`/servers?q=${"a".repeat(10_000)}`);
    expect(long.text).toContain("Only the first 1000 characters of a filter are used.");
    expect(long.text).toContain("No server matches.");
    for (const query of [
      "region=*",
      "q=%ff",
      "q=%00",
      "name=",
      "page=0",
      "page=99999999",
      "q=a&q=b",
    ]) {
      expect((await open(`/servers?${query}`)).status).toBe(200);
    }
  });

  it("has pages with links", async () => {
    const many = Array.from({ length: 250 }, (_, at) => ({ id: `s${at}`, name: `n${1_000 + at}` }));
    const open = await serve([watchServers(many)]);
    const first = await open("/servers?sort=name");
    expect(first.names).toHaveLength(100);
    expect(first.markup).toContain('aria-rowcount="251"');
    expect(first.markup).toContain('href="servers?sort=name&amp;page=2" rel="next"');
    const last = await open("/servers?sort=name&page=3");
    expect([last.names[0], last.names.length]).toEqual(["n1200", 50]);
    expect(last.markup).toContain('<tr aria-rowindex="202">');
    expect(last.text).toContain("201 to 250 of 250");
    const beyond = await open("/servers?sort=name&page=9");
    expect(beyond.text).toContain("There are only 3 pages. Show the last one");
    expect((await (await serve([]))("/servers")).text).toContain("No server is known yet.");
  });

  it("shows servers of a stale target as unobserved, with what they were", async () => {
    const open = await serve([watchServers(fleet, { stale: true })]);
    const { text } = await open("/servers?status=unobserved&q=a1");
    expect(text).toContain("github a1 unobserved was error");
    expect(text).toContain("error 0");
  });

  it("shows whatever a service calls its servers as text", async () => {
    const { markup } = await (await serve())("/servers?q=script");
    expect(markup).not.toContain("<script>alert");
    expect(markup).toContain("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;");
    for (const sign of ["\u202e", "\0"]) expect(markup).not.toContain(sign);
    const long = await (
      await serve([watchServers([{ id: "i".repeat(512), name: "n".repeat(10_000) }])])
    )("/servers");
    expect(long.text).toContain(`${"n".repeat(60)}… iiiiiiii… idle`);
  });
});

it("addresses can be read back, whatever is in them", () => {
  const query = {
    q: "a&b=c",
    status: ["error", "unobserved"],
    region: ["us"],
    name: ["a,b", hostile],
    sort: { by: "since", descending: true },
    page: 3,
  } as const;
  const read = new URL(serversAddress(query), "http://x/").searchParams;
  expect(read.getAll("name")).toEqual(["a,b", hostile]);
  expect([read.get("q"), read.get("status"), read.get("sort")]).toEqual([
    "a&b=c",
    "error,unobserved",
    "-since",
  ]);
  expect(serversAddress({})).toBe("servers");
  const server = { region: "us", key: "k", sandbox_id: "../a", server_id: ".." };
  const url = new URL(serverAddress(server), "http://x/");
  expect([url.pathname, url.searchParams.get("server")]).toEqual(["/server", ".."]);
});

it("the overview has the worst servers with their last day, and a search that leads to the list", async () => {
  const world = await watchWorld({ servers: 8 });
  await world.poll();
  world.show(4, "error");
  await world.poll();
  const open = async (): Promise<string> => {
    const page = await (await fetch(await world.address())).text();
    return page.split('id="servers"')[1]?.split("</section>")[0] ?? "";
  };
  const card = await open();
  expect(card).toContain('action="servers"');
  expect(card).toContain('href="servers?status=error"');
  expect(card).not.toContain("aria-current");
  const rows = card.split("<tr>").slice(2);
  expect(rows).toHaveLength(5);
  expect(rows[0]).toContain(`server=${world.serverIds[4]}`);
  expect(rows[0]).toMatch(/aria-label="The last 24 hours: idle 5 s, unobserved/);
  world.show(4, "idle");
  world.clock.advance(5_000);
  await world.poll();
  world.clock.advance(5_000);
  // Another band, as its status is another.
  expect(await open()).toMatch(/aria-label="The last 24 hours: idle 10 s, error 10 s, unobserved/);
});

describe("the page of a server", () => {
  it("shows what it is and was, its incidents and notifications, and the commands", async () => {
    const world = await watchWorld();
    await world.poll(2);
    world.show(0, "error");
    await world.poll(2);
    const [id = ""] = world.serverIds;
    const { api } = world.daemon();
    const address = await world.address();
    const { changes } = await api(listChanges, { server: id });
    const place = { ...world.target, sandbox_id: changes[0]?.sandbox_id ?? "", server_id: id };
    const open = async (path: string) => {
      const response = await fetch(`${address}/${path}`);
      const markup = await response.text();
      return { status: response.status, markup, text: textOf(markup.split("<main")[1] ?? "") };
    };
    const { text, markup } = await open(serverAddress(place));
    expect(text).toContain(`${id} error for 5 s`);
    expect(text).toContain("idle 10 s error 5 s unobserved");
    expect(markup).toMatch(/aria-label="The last 24 hours: idle 10 s, error 5 s, unobserved/);
    expect(text).toContain("change idle -&gt; error");
    expect(text).toContain("incident server-error: opened");
    expect(text).toContain("delivery oncall accepted: firing");
    expect(text).toContain(`sandwatch explain ${id}`);
    expect(text).toContain("sandwatch lookup sandboxes --region us --key research");
    const { incidents } = await api(listIncidents, {});
    expect(markup).toContain(`href="incidents/${incidents[0]?.id}"`);
    expect(markup).toContain(`href="server/silence?region=us&amp;key=research&amp;server=${id}"`);
    // As `explain`: by a prefix of the id alone.
    expect((await open(`server?server=${id.slice(0, 12)}`)).text).toContain(`${id} error for 5 s`);
    const week = await open(`${serverAddress(place)}&range=7d`);
    expect(week.markup).toMatch(/"The last 7 days: idle 10 s, error 5 s, unobserved 6 d/);
    const wrong = await open(`${serverAddress(place)}&range=7y`);
    expect(wrong.text).toContain("There is no range &quot;7y&quot;: this is 24h.");
    const unknown = await open("server?server=nothing");
    expect([unknown.status, unknown.text]).toEqual([
      404,
      expect.stringContaining("No known server"),
    ]);
    expect((await open("server")).status).toBe(400);
  });

  it("shows incidents of no other server, not even of one whose id begins alike", async () => {
    const servers = ["a", "ab", "c"].map((id) => ({ id, server_name: "git", status: "error" }));
    const box = { local_sandbox_id: "box", created_at: "2026-02-16T12:45:25Z", servers };
    const { baseUrl } = await startPeer((_request, response) => {
      const body = { local_sandboxes: [box], total_count: 1 };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    const world = await watchWorld({ baseUrl });
    await world.poll();
    const { incidents } = await world.daemon().api(listIncidents, {});
    expect(incidents).toHaveLength(3);
    for (const { id, server_id = "" } of incidents) {
      const place = { ...world.target, sandbox_id: "box", server_id: server_id ?? "" };
      const response = await fetch(`${await world.address()}/${serverAddress(place)}`);
      const markup = await response.text();
      expect(incidents.filter((each) => markup.includes(`incidents/${each.id}`))).toMatchObject([
        { id, server_id },
      ]);
    }
  });

  it("is there for a server that is gone", async () => {
    const world = await watchWorld({ poll: { every: "5s", gone_after: 2 } });
    await world.poll(2);
    world.show(0, "absent");
    await world.poll(3);
    const response = await fetch(`${await world.address()}/server?server=${world.serverIds[0]}`);
    const text = textOf(await response.text());
    expect(text).toContain("Gone : it is not listed there any more.");
    expect(text).toContain("us / research");
    expect(text).toContain("change idle -&gt; absent");
    expect(text).toContain("absent 5 s");
  });

  it("offers to silence it", async () => {
    const { get } = await serveFleet([]);
    const server = new URLSearchParams({ region: "us", key: "research", server: "a 'b'" });
    const { text } = await get(`/server/silence?${server.toString()}`);
    expect(text).toContain("&quot;server_id&quot;:[&quot;a &#39;b&#39;&quot;]");
    expect(text).toContain("--server</span> &#39;a &#39;\\&#39;&#39;b&#39;\\&#39;&#39;&#39;");
  });

  it.each(["server", "sandbox"])(
    "offers no silence of a whole key to an address without the id of a %s",
    async (kind) => {
      const { get } = await serveFleet([]);
      const { text } = await get(`/${kind}/silence?region=us&key=research`);
      // The API refuses an empty one.
      expect(text).toContain(`&quot;${kind}_id&quot;:[&quot;&quot;]`);
    },
  );
});
