import { describe, expect, it } from "vitest";
import type { Status } from "../../src/fleet/model.ts";
import { listing, server } from "../support/fleet.ts";
import type { Listing } from "../support/listing.ts";
import {
  deviationOf,
  joinPieces,
  meterFleet,
  parseExposition,
  parseOpenMetrics,
} from "./exposition.ts";
import type { Family } from "./exposition.ts";

function eventful(options: Parameters<typeof meterFleet>[0] = {}) {
  const fleet = meterFleet(options);
  fleet.poll(listing({ a: "idle", b: "idle" }));
  fleet.poll(listing({ a: "error", b: "idle" }));
  fleet.metrics.service.deviated(deviationOf('say "what"\n', 3));
  return fleet;
}

/** Those whose values do not change because they are read. */
function ours(families: ReadonlyMap<string, Family>): readonly Family[] {
  return [...families.values()].filter(({ name }) => /^(sandbox|sandwatch)_/.test(name));
}

// Rules take the series for a sign of PostgreSQL: without it a process that is down is one that nothing replaces.
it("a gauge without labels that has no value has no series: a process on SQLite has no lease", async () => {
  const collect = ["sandwatch_lease_remaining_seconds", "sandwatch_active"];
  const { render } = meterFleet();
  const samples = (await render({ collect })).split("\n").filter((line) => /^\w/.test(line));
  expect(samples).toEqual(["sandwatch_active 1"]);
});

it("the text format is written like this", async () => {
  const { poll, render } = meterFleet();
  const servers = [
    server("a\\b", { name: "github", status: "error", benchmark: "MCP_Atlas" }),
    server("c\nd", { name: "沙箱", status: "idle" }),
  ];
  const sandbox = {
    id: 'box "1"',
    status: "occupied" as const,
    benchmark: null,
    createdAt: null,
    servers,
  };
  const small: Listing = { complete: true, sandboxes: [sandbox] };
  poll(small, 0);
  poll(small, 60);
  const collect = [
    "sandbox_sandboxes",
    "sandbox_server_status_seconds_total",
    "sandbox_server_status",
    "sandbox_server_info",
    "sandbox_server_status_since_timestamp_seconds",
  ];
  const lines = (await render({ collect })).split("\n");
  expect(lines.filter((line) => !/status="(idle|unknown)"/.test(line)).join("\n"))
    .toMatchInlineSnapshot(`
    "# HELP sandbox_sandboxes Sandboxes by status.
    # TYPE sandbox_sandboxes gauge
    sandbox_sandboxes{region="us",key="research",status="occupied"} 1
    sandbox_sandboxes{region="us",key="research",status="error"} 0
    # HELP sandbox_server_status_seconds_total Observed server-seconds in a status; the rate is the time-weighted number of servers.
    # TYPE sandbox_server_status_seconds_total counter
    sandbox_server_status_seconds_total{region="us",key="research",server_name="github",status="occupied"} 0
    sandbox_server_status_seconds_total{region="us",key="research",server_name="github",status="error"} 60
    sandbox_server_status_seconds_total{region="us",key="research",server_name="沙箱",status="occupied"} 0
    sandbox_server_status_seconds_total{region="us",key="research",server_name="沙箱",status="error"} 0
    # HELP sandbox_server_status The status of a server: 1 for its status, 0 for the others.
    # TYPE sandbox_server_status gauge
    sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="a\\\\b",status="occupied"} 0
    sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="a\\\\b",status="error"} 1
    sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="c\\nd",status="occupied"} 0
    sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="c\\nd",status="error"} 0
    # HELP sandbox_server_info Information about a server; always 1.
    # TYPE sandbox_server_info gauge
    sandbox_server_info{region="us",key="research",sandbox="box \\"1\\"",server="a\\\\b",server_name="github",benchmark="MCP_Atlas"} 1
    sandbox_server_info{region="us",key="research",sandbox="box \\"1\\"",server="c\\nd",server_name="沙箱",benchmark=""} 1
    # HELP sandbox_server_status_since_timestamp_seconds When a server was first observed in its status, in seconds since 1970.
    # TYPE sandbox_server_status_since_timestamp_seconds gauge
    sandbox_server_status_since_timestamp_seconds{region="us",key="research",sandbox="box \\"1\\"",server="a\\\\b"} 1795167000
    sandbox_server_status_since_timestamp_seconds{region="us",key="research",sandbox="box \\"1\\"",server="c\\nd"} 1795167000
    "
  `);
});

describe("OpenMetrics", () => {
  it("is written like this", async () => {
    const { render } = eventful();
    const collect = [
      "sandwatch_polls_total",
      "sandwatch_schema_deviations_total",
      "sandbox_server_info",
    ];
    expect(await render({ syntax: "openmetrics", collect })).toMatchInlineSnapshot(`
      "# HELP sandwatch_polls Polls, including failed polls and polls that the rate limit prevented.
      # TYPE sandwatch_polls counter
      sandwatch_polls_total{region="us",key="research"} 2
      # HELP sandwatch_schema_deviations Deviations of responses from the interface of the service.
      # TYPE sandwatch_schema_deviations counter
      sandwatch_schema_deviations_total{region="us",operation="list_sandboxes",field="say \\"what\\"\\n"} 3
      # HELP sandbox_server_info Information about a server; always 1.
      # TYPE sandbox_server_info gauge
      sandbox_server_info{region="us",key="research",sandbox="box",server="a",server_name="github",benchmark=""} 1
      sandbox_server_info{region="us",key="research",sandbox="box",server="b",server_name="github",benchmark=""} 1
      # EOF
      "
    `);
  });

  it("has the series of the text format, whichever was requested before", async () => {
    const { render } = eventful();
    const text = parseExposition(await render());
    const open = parseOpenMetrics(await render({ syntax: "openmetrics" }));
    expect(ours(open)).toEqual(ours(text));
    expect([...open.keys()]).toEqual([...text.keys()]);
    const again = parseExposition(await render());
    expect(ours(again)).toEqual(ours(text));
  });
});

describe("a scrape of some families", () => {
  const namesIn = (text: string) => [...parseExposition(text).keys()];

  it.each([
    [["sandwatch_polls_total"]],
    [["process_cpu_seconds_total"]],
    [["sandbox_servers", "sandwatch_build_info", "sandbox_status"]],
  ])("exposes %j and nothing else", async (collect) => {
    const { render } = eventful({ readOutbox: () => Promise.reject(new Error("not called")) });
    expect(namesIn(await render({ collect: collect.toReversed() }))).toEqual(collect);
    const open = parseOpenMetrics(await render({ collect, syntax: "openmetrics" }));
    expect([...open.keys()]).toEqual(collect);
  });

  it("updates those of the process that are set along with others", async () => {
    const { render } = eventful();
    const collect = ["process_cpu_seconds_total"];
    const secondsIn = (text: string): number =>
      parseExposition(text).get("process_cpu_seconds_total")?.samples[0]?.value ?? 0;
    const before = secondsIn(await render({ collect }));
    const usedMicros = process.cpuUsage().user;
    while (process.cpuUsage().user < usedMicros + 5_000);
    expect(secondsIn(await render({ collect }))).toBeGreaterThan(before);
  });

  it("lacks what only the store has while that cannot be read, which is reported once", async () => {
    const errors: string[] = [];
    const whole = namesIn(await eventful().render());
    const { render } = eventful({
      readOutbox: () => Promise.reject(new Error("disk I/O error")),
      onUnread: ({ message }) => void errors.push(message),
    });
    const stored = [
      "sandwatch_notifications_pending",
      "sandwatch_notifications_dead",
      "sandwatch_notification_oldest_pending_timestamp_seconds",
    ];
    expect(whole).toEqual(expect.arrayContaining(stored));
    expect(namesIn(await render())).toEqual(whole.filter((name) => !stored.includes(name)));
    expect(errors).toEqual(["disk I/O error"]);
  });

  it.each([
    ["sandwatch_pools_total", 'there is no metric family "sandwatch_pools_total"'],
    [
      "sandbox_server_info",
      'the metric family "sandbox_server_info" is turned off by metrics.per_server',
    ],
  ])("is refused for %s", async (name, reason) => {
    const { metrics } = eventful({ perServer: false });
    const collect = ["sandwatch_polls_total", name];
    expect(await metrics.scrape({ syntax: "text", collect })).toEqual({ kind: "refused", reason });
  });
});

it("a poll that ends while a scrape is rendered is not in it", async () => {
  const { poll, metrics, render } = eventful();
  const inAll = (status: Status) => ({
    complete: true,
    sandboxes: Array.from({ length: 300 }, (_, box) => {
      return {
        id: `box-${box}`,
        status,
        benchmark: null,
        createdAt: null,
        servers: [server("a", { status })],
      };
    }),
  });
  poll(inAll("idle"));
  const before = ours(parseExposition(await render()));
  const scrape = await metrics.scrape({ syntax: "text", collect: [] });
  poll(inAll("error"));
  const during = scrape.kind === "exposition" ? joinPieces(scrape.pieces) : "";
  expect(ours(parseExposition(during))).toEqual(before);
  expect(ours(parseExposition(await render()))).not.toEqual(before);
});
