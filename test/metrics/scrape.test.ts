import { describe, expect, it } from "vitest";
import type { Status } from "../../src/fleet/model.ts";
import { listing, server } from "../support/fleet.ts";
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

/** Those whose values do not change by being looked at. */
function ours(families: ReadonlyMap<string, Family>): readonly Family[] {
  return [...families.values()].filter(({ name }) => /^(sandbox|sandwatch)_/.test(name));
}

describe("OpenMetrics", () => {
  it("is written like this", async () => {
    const { render } = eventful();
    const collect = [
      "sandwatch_polls_total",
      "sandwatch_poll_duration_seconds",
      "sandwatch_schema_deviations_total",
      "sandbox_server_info",
    ];
    expect(await render({ syntax: "openmetrics", collect })).toMatchInlineSnapshot(`
      "# HELP sandwatch_polls Polls, including failed polls and polls that the rate limit prevented.
      # TYPE sandwatch_polls counter
      sandwatch_polls_total{region="us",key="research"} 2
      # HELP sandwatch_poll_duration_seconds Duration of polls, with retries and the wait for the rate limit.
      # TYPE sandwatch_poll_duration_seconds histogram
      sandwatch_poll_duration_seconds_bucket{le="0.01",region="us"} 0
      sandwatch_poll_duration_seconds_bucket{le="0.025",region="us"} 0
      sandwatch_poll_duration_seconds_bucket{le="0.05",region="us"} 0
      sandwatch_poll_duration_seconds_bucket{le="0.1",region="us"} 0
      sandwatch_poll_duration_seconds_bucket{le="0.25",region="us"} 2
      sandwatch_poll_duration_seconds_bucket{le="0.5",region="us"} 2
      sandwatch_poll_duration_seconds_bucket{le="1.0",region="us"} 2
      sandwatch_poll_duration_seconds_bucket{le="2.5",region="us"} 2
      sandwatch_poll_duration_seconds_bucket{le="5.0",region="us"} 2
      sandwatch_poll_duration_seconds_bucket{le="10.0",region="us"} 2
      sandwatch_poll_duration_seconds_bucket{le="30.0",region="us"} 2
      sandwatch_poll_duration_seconds_bucket{le="+Inf",region="us"} 2
      sandwatch_poll_duration_seconds_sum{region="us"} 0.5
      sandwatch_poll_duration_seconds_count{region="us"} 2
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

  it("tells what the text tells, series by series, whichever was asked for before", async () => {
    const { render } = eventful();
    const text = parseExposition(await render());
    const open = parseOpenMetrics(await render({ syntax: "openmetrics" }));
    expect(ours(open)).toEqual(ours(text));
    expect([...open.keys()]).toEqual([...text.keys()]);
    const again = parseExposition(await render());
    expect(ours(again)).toEqual(ours(text));
    expect([...again.keys()]).toEqual([...text.keys()]);
  });

  it("has one family of each name, counters being named without their ending", async () => {
    const exposition = await eventful().render({ syntax: "openmetrics" });
    const names = Array.from(exposition.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain("sandwatch_polls");
    expect(names).toContain("process_cpu_seconds");
  });
});

describe("a scrape for some families", () => {
  const namesIn = (text: string) => [...parseExposition(text).keys()];

  it.each([
    [["sandwatch_polls_total"]],
    [["sandbox_server_status"]],
    [["process_cpu_seconds_total"]],
    [["sandbox_servers", "sandwatch_build_info", "sandbox_status"]],
  ])("exposes %j and nothing else", async (collect) => {
    const { render } = eventful();
    expect(namesIn(await render({ collect: collect.toReversed() }))).toEqual(collect);
    const open = parseOpenMetrics(await render({ collect, syntax: "openmetrics" }));
    expect([...open.keys()]).toEqual(collect);
  });

  it("brings those of the process up to date that are set along with others", async () => {
    const { render } = eventful();
    const collect = ["process_cpu_seconds_total"];
    const secondsIn = (text: string): number =>
      parseExposition(text).get("process_cpu_seconds_total")?.samples[0]?.value ?? 0;
    const before = secondsIn(await render({ collect }));
    const usedMicros = process.cpuUsage().user;
    while (process.cpuUsage().user < usedMicros + 5_000);
    expect(secondsIn(await render({ collect }))).toBeGreaterThan(before);
  });

  it("does not ask the store when the store is not asked about", async () => {
    const { render } = eventful({ readOutbox: () => Promise.reject(new Error("disk")) });
    const text = await render({ collect: ["sandbox_server_status"] });
    expect(namesIn(text)).toEqual(["sandbox_server_status"]);
  });

  it("is whole but for what only the store tells, while that cannot be read", async () => {
    const told: string[] = [];
    const whole = namesIn(await eventful().render());
    const { render } = eventful({
      readOutbox: () => Promise.reject(new Error("disk I/O error")),
      onUnread: ({ message }) => void told.push(message),
    });
    const stored = [
      "sandwatch_notifications_pending",
      "sandwatch_notifications_dead",
      "sandwatch_notification_oldest_pending_timestamp_seconds",
    ];
    expect(whole).toEqual(expect.arrayContaining(stored));
    expect(namesIn(await render())).toEqual(whole.filter((name) => !stored.includes(name)));
    expect(told).toEqual(["disk I/O error"]);
  });

  it("says which one there is not", async () => {
    const { metrics } = eventful();
    const collect = ["sandwatch_polls_total", "sandwatch_pools_total"];
    expect(await metrics.scrape({ syntax: "text", collect })).toEqual({
      kind: "refused",
      reason: 'there is no metric family "sandwatch_pools_total"',
    });
  });

  it("says which one is turned off", async () => {
    const { metrics } = eventful({ perServer: false });
    const collect = ["sandbox_server_info"];
    expect(await metrics.scrape({ syntax: "text", collect })).toEqual({
      kind: "refused",
      reason: 'the metric family "sandbox_server_info" is turned off by metrics.per_server',
    });
  });
});

describe("a poll that ends while a scrape is rendered", () => {
  it("is not in it: every family tells of the moment when the scrape began", async () => {
    const { poll, metrics, render } = eventful();
    const before = ours(parseExposition(await render()));
    const scrape = await metrics.scrape({ syntax: "text", collect: [] });
    poll({
      complete: true,
      sandboxes: [
        { id: "new", status: "error", benchmark: null, servers: [server("c")] },
        ...listing({ a: "occupied", b: "error" }).sandboxes,
      ],
    });
    const during =
      scrape.kind === "exposition" ? ours(parseExposition(joinPieces(scrape.pieces))) : [];
    expect(during).toEqual(before);
    expect(ours(parseExposition(await render()))).not.toEqual(before);
  });

  it("is not in it either where it gives all servers other statuses", async () => {
    const { poll, metrics, render } = meterFleet();
    const inAll = (status: Status) => ({
      complete: true,
      sandboxes: Array.from({ length: 300 }, (_, box) => ({
        id: `box-${box}`,
        status,
        benchmark: null,
        servers: [server("a", { status })],
      })),
    });
    poll(inAll("idle"));
    const before = ours(parseExposition(await render()));
    const scrape = await metrics.scrape({ syntax: "text", collect: [] });
    poll(inAll("error"));
    const during =
      scrape.kind === "exposition" ? ours(parseExposition(joinPieces(scrape.pieces))) : [];
    expect(during).toEqual(before);
  });
});

describe("a scrape of more than a piece", () => {
  function large() {
    const fleet = meterFleet();
    const servers = Array.from({ length: 3_000 }, (_, index) => [`s${index}`, "idle"] as const);
    fleet.poll(listing(Object.fromEntries(servers)));
    const begin = async () => {
      const collect = ["sandbox_server_status"];
      const scrape = await fleet.metrics.scrape({ syntax: "text", collect });
      return scrape.kind === "exposition" ? scrape.pieces[Symbol.iterator]() : [].values();
    };
    return { ...fleet, begin };
  }

  function next(pieces: Iterator<Uint8Array>): Uint8Array {
    const step = pieces.next();
    return step.done ? new Uint8Array() : step.value;
  }

  it("is not disturbed by another one that begins beside it", async () => {
    const { begin } = large();
    const [one, other] = [await begin(), await begin()];
    const piece = next(one);
    const before = Buffer.from(piece).toString();
    expect(Buffer.from(next(other)).toString()).toBe(before);
    expect(Buffer.from(piece).toString()).toBe(before);
    const rest = [one, other].map((pieces) => Buffer.from(next(pieces)).toString());
    expect(rest[0]).toBe(rest[1]);
    expect(rest[0]).not.toBe(before);
  });

  it("that is broken off leaves the piece alone that may be on its way", async () => {
    const { begin, poll } = large();
    const broken = await begin();
    const piece = next(broken);
    const before = Buffer.from(piece).toString();
    broken.return?.();
    poll(listing({ a: "error" }));
    const later = await begin();
    for (let left = 3; left > 0; left -= 1) next(later);
    expect(Buffer.from(piece).toString()).toBe(before);
  });

  it("is the same again once one has ended", async () => {
    const { render } = large();
    const collect = ["sandbox_server_status", "sandbox_server_info"];
    expect(await render({ collect })).toBe(await render({ collect }));
  });
});
