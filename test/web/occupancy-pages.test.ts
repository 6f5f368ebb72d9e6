import { describe, expect, it } from "vitest";
import { availabilityOf, daysCard } from "../../src/web/pages/days-card.ts";
import type { PlaceDays } from "../../src/web/pages/occupancy-data.ts";
import { RefusedError } from "../../src/lib/refused-error.ts";
import {
  everything,
  queryText,
  readQuery,
  understand,
} from "../../src/web/pages/occupancy-query.ts";
import { watchHours } from "../support/watched-hours.ts";
import { serveWeb } from "./support/serve-web.ts";

const hostile = `"><script>alert(1)</script>'\u202eabc`;

async function openPage() {
  const world = await watchHours();
  const address = await world.address();
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${address}/${path}`, { headers });
    return { response, text: (await response.text()).replaceAll(/\s+/g, " ") };
  };
  return { world, get };
}

describe("the page of occupancy", () => {
  it("shows without a script areas of each status, with unobserved time hatched, and links to ranges", async () => {
    const { get } = await openPage();
    const { response, text } = await get("occupancy?from=6h");
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
    const { get } = await openPage();
    const { text } = await get("?from=6h&region=eu");
    expect(text).toContain('<a href="./?region=eu" data-soft>24 h</a>');
    expect(text).toContain(
      '<a href="./?from=6h&amp;region=eu" data-soft aria-current="true">6 h</a>',
    );
    expect(text).toContain('<a href="occupancy?from=6h&amp;region=eu">');
    expect(text).toContain("Last 90 days");
  });

  it("says for each query what is wrong with it, without a name of ten thousand characters, and shows the rest", async () => {
    const { get } = await openPage();
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
      const { response, text } = await get(`occupancy?${query}`);
      expect([query, response.status]).toEqual([query, 200]);
      expect(text).toContain(said);
      expect(text).not.toMatch(/<script>|\u202e|n{100}/);
      expect(text).toContain("Busiest hours");
    }
  });

  it("is in the zone of the reader, unless the address names one", async () => {
    const { get } = await openPage();
    const cookie = "a=b; tz=Asia/Tokyo";
    expect((await get("occupancy")).text).toContain('data-tz="UTC"');
    expect((await get("occupancy", { cookie })).text).toContain('data-tz="Asia/Tokyo"');
    expect((await get("occupancy?tz=Asia/Kolkata", { cookie })).text).toContain(
      'data-tz="Asia/Kolkata"',
    );
    expect((await get("occupancy", { cookie: "tz=No/Where" })).text).toContain('data-tz="UTC"');
  });

  it("has a report of every range, which is a page of its own", async () => {
    const { get } = await openPage();
    const { response, text } = await get("report?from=6h&region=eu&by=server_name");
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'unsafe-inline'/,
    );
    expect(text).toContain("<h1>Occupancy of servers</h1>");
    const refused = await get("report?from=soon");
    expect(refused.response.status).toBe(400);
    expect(refused.text).toContain("a time such as");
    expect(refused.response.headers.get("content-security-policy")).toContain("style-src 'self'");
  });

  it("leaves the overview as it is where the history cannot be read", async () => {
    const world = await watchHours();
    const whole = { call: world.daemon().api };
    const { get, errors } = await serveWeb({
      api: {
        call: (operation, request) =>
          operation.name.startsWith("reportOccupancy")
            ? Promise.reject(new Error("the disk is gone"))
            : whole.call(operation, request),
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
    const { api } = (await watchHours()).daemon();
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
    const world = await watchHours();
    const { api } = world.daemon();
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

describe("the days of a target", () => {
  const day = (date: number, seconds: { error?: number; unobserved?: number; all?: number }) => ({
    day: `2026-11-0${date}`,
    ...noFigures,
    server_seconds: seconds.all ?? 100,
    error_seconds: seconds.error ?? 0,
    error_share: (seconds.error ?? 0) / 100,
    unobserved_seconds: seconds.unobserved ?? 0,
    coverage: seconds.all === 0 ? null : 1 - (seconds.unobserved ?? 0) / 100,
  });
  const place = (key: string, days: PlaceDays["days"]): PlaceDays => ({ region: "us", key, days });

  it("are distinguished in words, and link to their day", () => {
    const days = [
      day(1, {}),
      day(2, { error: 5 }),
      day(3, { unobserved: 0.5 }),
      day(4, { unobserved: 40 }),
      day(5, { unobserved: 100 }),
      day(6, { all: 0 }),
    ];
    const { markup } = daysCard([place("ops", days)], { tz: "UTC", most: 5 });
    expect(Array.from(markup.matchAll(/<title>(.*?)<\/title/g), ([, text]) => text)).toEqual([
      "2026-11-01: fully observed, no error",
      "2026-11-02: some error (5.0% of observed time)",
      "2026-11-03: fully observed, no error",
      "2026-11-04: partly unobserved",
      "2026-11-05: nothing known",
      "2026-11-06: nothing known",
    ]);
    expect(markup).toContain(
      'href="occupancy?from=2026-11-01&amp;to=2026-11-02&amp;region=us&amp;key=ops&amp;tz=UTC"',
    );
  });

  it("are red for the share of the time in error, but at least a sixth", () => {
    const days = [day(1, { error: 0.1 }), day(2, { error: 50 }), day(3, { error: 100 })];
    const { markup } = daysCard([place("ops", days)], { tz: "UTC", most: 5 });
    const reds = markup.matchAll(/height="(\d+)" class="day error"/g);
    // The last is that of the key.
    expect(Array.from(reds, ([, height]) => Number(height))).toEqual([4, 12, 24, 4]);
  });

  it("give an availability of the observed time, which is 100 % only without any error", () => {
    expect(
      availabilityOf(place("a", [day(1, { error: 10, unobserved: 50 }), day(2, {})])),
    ).toBeCloseTo(1 - 10 / 150);
    expect(availabilityOf(place("a", [day(1, { unobserved: 100 })]))).toBeNull();
    const { markup } = daysCard([place("a", [day(1, { error: 0.000_01 })])], {
      tz: "UTC",
      most: 5,
    });
    expect(markup).toContain(">99.99%<");
  });

  it("say of how much time their availability is, if that is not all of the ninety days", () => {
    const shown = (days: PlaceDays["days"]) =>
      daysCard([place("a", days)], { tz: "UTC", most: 5 }).markup;
    const whole = (count: number, unobserved: number) =>
      Array.from({ length: count }, () => day(1, { unobserved }));
    // Twenty minutes of ninety days.
    const young = [...whole(89, 100), day(1, { error: 0.5, unobserved: 100 - 100 / 72 })];
    expect(shown(young)).toMatch(/percent">6\d\.\d\d% <small>of 20m observed</);
    expect(shown(whole(90, 50))).toContain("of 45d observed");
    expect(shown(whole(90, 0.5))).not.toContain("observed</small>");
  });

  it("are those of the least available targets, and the others are counted", () => {
    const places = [0, 3, 1, 2].map((error) => place(`key-${error}`, [day(1, { error })]));
    const { markup } = daysCard(places, { tz: "UTC", most: 2 });
    expect(markup.match(/us \/ key-\d(?=<)/g)).toEqual(["us / key-3", "us / key-2"]);
    expect(markup).toContain("and 2 more, which were more available");
  });
});

const noFigures = {
  occupied_share: null,
  idle_share: null,
  unknown_share: null,
  unobserved_share: null,
  occupied_seconds: 0,
  idle_seconds: 0,
  unknown_seconds: 0,
  occupied_average: null,
  occupied_peak: null,
  occupied_peak_exact: null,
  servers_average: null,
  servers_peak: null,
  headroom: null,
  stays: 0,
  stay_mean_seconds: null,
  stay_median_seconds: null,
  stay_median_least_seconds: null,
  stay_median_most_seconds: null,
  stay_p95_seconds: null,
  stay_p95_least_seconds: null,
  stay_p95_most_seconds: null,
  incidents: 0,
  recoveries: 0,
  recovery_mean_seconds: null,
  recovery_mean_least_seconds: null,
};

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
