import { describe, expect, it } from "vitest";
import { RefusedError } from "../../src/lib/refused-error.ts";
import {
  everything,
  queryText,
  readQuery,
  understand,
} from "../../src/web/pages/occupancy-query.ts";
import { share } from "../support/share.ts";
import { watchHours } from "../support/watched-hours.ts";
import { serveWeb } from "./support/serve-web.ts";

const hostile = `"><script>alert(1)</script>'\u202eabc`;

const hours = share(() => watchHours());

async function open(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${await hours().address()}/${path}`, { headers });
  return { response, text: (await response.text()).replaceAll(/\s+/g, " ") };
}

describe("the page of occupancy", () => {
  it("shows without a script areas of each status, with unobserved time hatched, and links to ranges", async () => {
    const { response, text } = await open("occupancy?from=6h");
    expect(response.status).toBe(200);
    for (const status of ["occupied", "idle", "error"]) {
      expect(text).toMatch(new RegExp(`<path d="M[^"]+Z" class="${status}"`));
    }
    expect(text).toMatch(/<path d="M[^"]+Z" fill="url\(#unobserved\)"/);
    expect(text).not.toContain('class="unknown" /> <path');
    expect(text).toContain('<a href="occupancy?from=7d" data-soft>7 d</a>');
    expect(text).toContain('<a href="occupancy?from=6h&amp;region=eu" data-soft>eu</a>');
    expect(text).toMatch(/aria-label="On average: [\d.]+ occupied, [\d.]+ idle/);
    expect(text).toContain("Values as a table");
  });

  it("is on the overview, too, whose address chooses what it shows", async () => {
    const { text } = await open("?from=6h&region=eu");
    expect(text).toContain('<a href="./?region=eu" data-soft>24 h</a>');
    expect(text).toContain(
      '<a href="./?from=6h&amp;region=eu" data-soft aria-current="true">6 h</a>',
    );
    expect(text).toContain('<a href="occupancy?from=6h&amp;region=eu">');
    expect(text).toContain("Last 90 days");
  });

  it("says for each query what is wrong with it, without a name of ten thousand characters, and shows the rest", async () => {
    for (const [query, said] of [
      ["from=soon", "from cannot be “soon”. Allowed: a time such as 2026-11-01"],
      ["from=2026-11-21", "from cannot be “2026-11-21”. Allowed: a time before now."],
      ["from=2h&to=3h", "to cannot be “3h”. Allowed: a time after from."],
      ["tz=Mars", "tz cannot be “Mars”. Allowed: a time zone such as UTC"],
      ["region=mars", "No target of the region “mars” is watched."],
      ["key=other", "No target of the key “other” is watched."],
      ["server_name=none", "No server of the name “none” was recorded in this range."],
      ["colour=red", "There is no filter “colour”: it was ignored."],
      [
        `server_name=${"n".repeat(10_000)}`,
        `server_name cannot be “${"n".repeat(60)}…”. Allowed: a text of at most 1000 characters.`,
      ],
      [
        new URLSearchParams({ server_name: hostile }).toString(),
        "No server of the name “&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#39;",
      ],
    ] as const) {
      const { response, text } = await open(`occupancy?${query}`);
      expect([query, response.status]).toEqual([query, 200]);
      expect(text).toContain(said);
      expect(text).not.toMatch(/<script>|\u202e|n{100}/);
      expect(text).toContain("Busiest hours");
    }
  });

  it("is in the zone of the reader, unless the address names one", async () => {
    const cookie = "a=b; tz=Asia/Tokyo";
    expect((await open("occupancy")).text).toContain('data-tz="UTC"');
    expect((await open("occupancy", { cookie })).text).toContain('data-tz="Asia/Tokyo"');
    expect((await open("occupancy?tz=Asia/Kolkata", { cookie })).text).toContain(
      'data-tz="Asia/Kolkata"',
    );
    expect((await open("occupancy", { cookie: "tz=No/Where" })).text).toContain('data-tz="UTC"');
  });

  it("has a report of every range, which is a page of its own", async () => {
    const { response, text } = await open("report?from=6h&region=eu&by=server_name");
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'unsafe-inline'/,
    );
    expect(text).toContain("<h1>Occupancy of servers</h1>");
    const refused = await open("report?from=soon");
    expect(refused.response.status).toBe(400);
    expect(refused.text).toContain("a time such as");
    expect(refused.response.headers.get("content-security-policy")).toContain("style-src 'self'");
  });

  it("counts sandboxes instead of servers where they are chosen", async () => {
    const averageOf = async (query: string) => {
      const { text } = await open(`occupancy?from=6h${query}`);
      return { text, average: /On average: [^"]+/.exec(text)?.[0] };
    };
    const [servers, sandboxes] = [await averageOf(""), await averageOf("&of=sandboxes")];
    expect(servers.text).toContain("<h2>Servers by status</h2>");
    expect(sandboxes.text).toContain("<h2>Sandboxes by status</h2>");
    expect(sandboxes.text).toMatch(/<option selected ?>sandboxes<\/option>/);
    expect(sandboxes.text).toContain(
      '<a href="occupancy?of=sandboxes&amp;from=7d" data-soft>7 d</a>',
    );
    expect(sandboxes.text).toContain("report?from=6h&amp;of=sandboxes");
    expect(sandboxes.average).not.toBe(servers.average);
    expect((await open("occupancy?of=cats")).text).toContain(
      "of cannot be “cats”. Allowed: servers or sandboxes.",
    );
    const { text } = await open("report?of=sandboxes&from=1h&by=region");
    expect(text).toContain("<h1>Occupancy of sandboxes</h1>");
    expect(text).toContain("<h2>Headroom by benchmark</h2>");
  });

  it("leaves the overview as it is where the history cannot be read", async () => {
    const { api } = hours().daemon();
    const { get, errors } = await serveWeb({
      api: {
        call: (operation, request) =>
          operation.name.startsWith("reportOccupancy")
            ? Promise.reject(new Error("the disk is gone"))
            : api(operation, request),
        events: () => Promise.resolve({ events: [], after: "", hasMore: false }),
      },
    });
    const { status, text } = await get("/");
    expect(status).toBe(200);
    expect(text).toContain("The history cannot be read: see the log.");
    expect(text).toContain("Firing");
    expect(errors).toEqual(["the disk is gone"]);
  });

  it("reads little history at once, refuses what very many wait for, and shows the overview all the same", async () => {
    const { promise: read, resolve: finish } = Promise.withResolvers<void>();
    let [inProgress, most] = [0, 0];
    const { api } = hours().daemon();
    const { address, get, errors } = await serveWeb({
      api: {
        async call(operation, request) {
          if (!operation.path.startsWith("/occupancy")) return api(operation, request);
          inProgress += 1;
          most = Math.max(most, inProgress);
          await read;
          inProgress -= 1;
          return api(operation, request);
        },
        events: () => Promise.resolve({ events: [], after: "", hasMore: false }),
      },
    });
    const reports = Array.from({ length: 103 }, (_, minutes) =>
      fetch(`${address}/report?from=${minutes + 5}m`),
    );
    const first = await Promise.race(reports);
    expect(first.status).toBe(429);
    expect(first.headers.get("retry-after")).toBe("10");
    expect(await first.text()).toContain("Many reports are being read.");
    const { status, text } = await get("/");
    expect(status).toBe(200);
    expect(text).toContain("A large history is being read.");
    expect(text).toContain("Firing");
    expect(errors).toEqual([]);
    finish();
    const statuses = await Promise.all(reports.map(async (each) => (await each).status));
    // Those that arrived after `finish` are read, too.
    expect(statuses.filter((each) => each === 200).length).toBeGreaterThanOrEqual(22);
    expect(most).toBe(2);
  });

  it("does not wait on the overview for what takes long, and shows it later", async () => {
    const { api } = hours().daemon();
    const { promise: read, resolve: finish } = Promise.withResolvers<void>();
    const asked: string[] = [];
    const { get } = await serveWeb({
      api: {
        async call(operation, request) {
          if (operation.name.startsWith("reportOccupancy")) {
            asked.push(`${operation.name} ${JSON.stringify(request)}`);
            await read;
          }
          return api(operation, request);
        },
        events: () => Promise.resolve({ events: [], after: "", hasMore: false }),
      },
    });
    const early = (await get("/")).text;
    expect(early).toContain("A large history is being read.");
    expect(early).toContain("Firing");
    finish();
    await expect
      .poll(async () => (await get("/")).text)
      .not.toContain("A large history is being read.");
    // All readers share what was read.
    await Promise.all([get("/"), get("/?a=1"), get("/?b=2")]);
    const weeks = asked.filter((each) => each.includes('"step":"1h"'));
    expect(weeks).toHaveLength(1);
  });

  it("has addresses that say what was chosen, and nothing else", () => {
    for (const text of [
      "",
      "?from=7d",
      "?from=a&to=b&region=x&region=y&key=z&server_name=n%2Cm&tz=UTC",
    ]) {
      expect(queryText(readQuery(Object.fromEntries(grouped(text))))).toBe(text);
    }
    expect(queryText(readQuery({ from: "24h", other: "x", region: "", key: ["a,b"] }))).toBe(
      "?key=a&key=b",
    );
  });
});

function grouped(text: string): ReadonlyMap<string, readonly string[]> {
  const query = new URLSearchParams(text);
  return new Map([...query.keys()].map((name) => [name, query.getAll(name)]));
}

it("a range that is refused is replaced by the default once, and the default is not asked for again", async () => {
  const asked: string[] = [];
  const refuse = ({ from }: typeof everything) => {
    asked.push(from);
    if (asked.length > 9) throw new TypeError("it is asked again and again");
    const fault = { path: "from", allowed: "nothing" };
    return Promise.reject(new RefusedError("invalid", "refused", [fault]));
  };
  await expect(understand({ ...everything, from: "soon" }, refuse)).rejects.toThrow("refused");
  expect(asked).toEqual(["soon", everything.from]);
});
