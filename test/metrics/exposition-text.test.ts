import { describe, expect, it } from "vitest";
import { judgeBy, listing, research, server, serverError, watchFleet } from "../support/fleet.ts";
import { meterFleet, parseExposition } from "./exposition.ts";
import type { Listing } from "../support/listing.ts";

/** The exposition of the sandbox families alone, without histogram buckets. */
function sandboxPart(text: string): string {
  const lines = text
    .split("\n")
    .filter((line) => /^(# (HELP|TYPE) )?sandbox_/.test(line) && !line.includes("_bucket{"));
  return `${lines.join("\n")}\n`;
}

const small: Listing = {
  complete: true,
  sandboxes: [
    {
      id: 'box "1"',
      status: "occupied",
      benchmark: null,
      servers: [
        server("a\\b", { name: "github", status: "error", benchmark: "MCP_Atlas" }),
        server("c\nd", { name: "沙箱", status: "idle" }),
      ],
    },
  ],
};

describe("a small fleet", () => {
  it("is exposed like this", async () => {
    const { poll, render } = meterFleet();
    poll(small, 0);
    poll(small, 60);
    expect(sandboxPart(await render())).toMatchInlineSnapshot(`
      "# HELP sandbox_servers Servers by name and status.
      # TYPE sandbox_servers gauge
      sandbox_servers{region="us",key="research",server_name="github",status="idle"} 0
      sandbox_servers{region="us",key="research",server_name="github",status="occupied"} 0
      sandbox_servers{region="us",key="research",server_name="github",status="error"} 1
      sandbox_servers{region="us",key="research",server_name="github",status="unknown"} 0
      sandbox_servers{region="us",key="research",server_name="沙箱",status="idle"} 1
      sandbox_servers{region="us",key="research",server_name="沙箱",status="occupied"} 0
      sandbox_servers{region="us",key="research",server_name="沙箱",status="error"} 0
      sandbox_servers{region="us",key="research",server_name="沙箱",status="unknown"} 0
      # HELP sandbox_sandboxes Sandboxes by status.
      # TYPE sandbox_sandboxes gauge
      sandbox_sandboxes{region="us",key="research",status="idle"} 0
      sandbox_sandboxes{region="us",key="research",status="occupied"} 1
      sandbox_sandboxes{region="us",key="research",status="error"} 0
      sandbox_sandboxes{region="us",key="research",status="unknown"} 0
      # HELP sandbox_server_status_seconds_total Observed server-seconds in a status; the rate is the time-weighted number of servers.
      # TYPE sandbox_server_status_seconds_total counter
      sandbox_server_status_seconds_total{region="us",key="research",server_name="github",status="idle"} 0
      sandbox_server_status_seconds_total{region="us",key="research",server_name="github",status="occupied"} 0
      sandbox_server_status_seconds_total{region="us",key="research",server_name="github",status="error"} 60
      sandbox_server_status_seconds_total{region="us",key="research",server_name="github",status="unknown"} 0
      sandbox_server_status_seconds_total{region="us",key="research",server_name="沙箱",status="idle"} 60
      sandbox_server_status_seconds_total{region="us",key="research",server_name="沙箱",status="occupied"} 0
      sandbox_server_status_seconds_total{region="us",key="research",server_name="沙箱",status="error"} 0
      sandbox_server_status_seconds_total{region="us",key="research",server_name="沙箱",status="unknown"} 0
      # HELP sandbox_unobserved_seconds_total Seconds in which a target was not observed.
      # TYPE sandbox_unobserved_seconds_total counter
      sandbox_unobserved_seconds_total{region="us",key="research"} 0
      # HELP sandbox_server_transitions_total Changes of servers; absent is the status before a server appears and after it is gone.
      # TYPE sandbox_server_transitions_total counter
      sandbox_server_transitions_total{region="us",key="research",server_name="github",from="idle",to="error"} 0
      sandbox_server_transitions_total{region="us",key="research",server_name="github",from="occupied",to="error"} 0
      sandbox_server_transitions_total{region="us",key="research",server_name="github",from="unknown",to="error"} 0
      sandbox_server_transitions_total{region="us",key="research",server_name="github",from="absent",to="error"} 1
      sandbox_server_transitions_total{region="us",key="research",server_name="沙箱",from="idle",to="error"} 0
      sandbox_server_transitions_total{region="us",key="research",server_name="沙箱",from="occupied",to="error"} 0
      sandbox_server_transitions_total{region="us",key="research",server_name="沙箱",from="unknown",to="error"} 0
      sandbox_server_transitions_total{region="us",key="research",server_name="沙箱",from="absent",to="idle"} 1
      sandbox_server_transitions_total{region="us",key="research",server_name="沙箱",from="absent",to="error"} 0
      # HELP sandbox_server_status_duration_seconds Dwell times of servers in a status whose start and end were observed.
      # TYPE sandbox_server_status_duration_seconds histogram
      sandbox_server_status_duration_seconds_sum{region="us",key="research",status="idle"} 0
      sandbox_server_status_duration_seconds_count{region="us",key="research",status="idle"} 0
      sandbox_server_status_duration_seconds_sum{region="us",key="research",status="occupied"} 0
      sandbox_server_status_duration_seconds_count{region="us",key="research",status="occupied"} 0
      sandbox_server_status_duration_seconds_sum{region="us",key="research",status="error"} 0
      sandbox_server_status_duration_seconds_count{region="us",key="research",status="error"} 0
      sandbox_server_status_duration_seconds_sum{region="us",key="research",status="unknown"} 0
      sandbox_server_status_duration_seconds_count{region="us",key="research",status="unknown"} 0
      # HELP sandbox_server_status The status of a server: 1 for its status, 0 for the others.
      # TYPE sandbox_server_status gauge
      sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="a\\\\b",status="idle"} 0
      sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="a\\\\b",status="occupied"} 0
      sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="a\\\\b",status="error"} 1
      sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="a\\\\b",status="unknown"} 0
      sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="c\\nd",status="idle"} 1
      sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="c\\nd",status="occupied"} 0
      sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="c\\nd",status="error"} 0
      sandbox_server_status{region="us",key="research",sandbox="box \\"1\\"",server="c\\nd",status="unknown"} 0
      # HELP sandbox_server_info Information about a server; always 1.
      # TYPE sandbox_server_info gauge
      sandbox_server_info{region="us",key="research",sandbox="box \\"1\\"",server="a\\\\b",server_name="github",benchmark="MCP_Atlas"} 1
      sandbox_server_info{region="us",key="research",sandbox="box \\"1\\"",server="c\\nd",server_name="沙箱",benchmark=""} 1
      # HELP sandbox_server_status_since_timestamp_seconds When a server was first observed in its status, in seconds since 1970.
      # TYPE sandbox_server_status_since_timestamp_seconds gauge
      sandbox_server_status_since_timestamp_seconds{region="us",key="research",sandbox="box \\"1\\"",server="a\\\\b"} 1795167000
      sandbox_server_status_since_timestamp_seconds{region="us",key="research",sandbox="box \\"1\\"",server="c\\nd"} 1795167000
      # HELP sandbox_status The status of a sandbox: 1 for its status, 0 for the others.
      # TYPE sandbox_status gauge
      sandbox_status{region="us",key="research",sandbox="box \\"1\\"",status="idle"} 0
      sandbox_status{region="us",key="research",sandbox="box \\"1\\"",status="occupied"} 1
      sandbox_status{region="us",key="research",sandbox="box \\"1\\"",status="error"} 0
      sandbox_status{region="us",key="research",sandbox="box \\"1\\"",status="unknown"} 0
      "
    `);
  });
});

describe("a target that is withheld", () => {
  it("has no status series of any kind, but keeps its counters", async () => {
    const { poll, render } = meterFleet();
    poll(listing({ a: "idle" }));
    poll(listing({ a: "error" }));
    const before = parseExposition(await render());
    poll("failed");
    poll("failed");
    const still = parseExposition(await render());
    expect(still.get("sandbox_server_status")).toEqual(before.get("sandbox_server_status"));
    expect(still.get("sandbox_servers")).toEqual(before.get("sandbox_servers"));
    poll("failed");
    const blind = parseExposition(await render());
    for (const name of [
      "sandbox_server_status",
      "sandbox_server_info",
      "sandbox_server_status_since_timestamp_seconds",
      "sandbox_status",
      "sandbox_servers",
      "sandbox_sandboxes",
    ]) {
      expect([name, blind.get(name)?.samples]).toEqual([name, []]);
    }
    for (const name of [
      "sandbox_server_status_seconds_total",
      "sandbox_server_transitions_total",
      "sandbox_server_status_duration_seconds",
    ]) {
      expect(blind.get(name)).toEqual(before.get(name));
      expect(blind.get(name)?.samples.length).toBeGreaterThan(0);
    }
    expect(blind.get("sandwatch_target_up")?.samples).toMatchObject([{ value: 0 }]);
    expect(blind.get("sandbox_unobserved_seconds_total")?.samples).toMatchObject([{ value: 90 }]);
  });
});

describe("what happens", () => {
  const valueOf = async (
    { render }: ReturnType<typeof meterFleet>,
    name: string,
    labels: Readonly<Record<string, string>>,
  ): Promise<number | undefined> =>
    parseExposition(await render())
      .get(name.replace(/_(sum|count)$/, ""))
      ?.samples.find(
        (sample) =>
          sample.name === name &&
          Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      )?.value;

  it("is counted in server-seconds, transitions and stays", async () => {
    const fleet = meterFleet();
    fleet.poll(listing({ a: "idle", b: "idle" }), 0);
    fleet.poll(listing({ a: "occupied", b: "idle" }), 30);
    fleet.poll(listing({ a: "error", b: "idle" }), 45);
    const seconds = "sandbox_server_status_seconds_total";
    expect(await valueOf(fleet, seconds, { status: "idle" })).toBe(60 + 45);
    expect(await valueOf(fleet, seconds, { status: "occupied" })).toBe(45);
    expect(await valueOf(fleet, seconds, { status: "error" })).toBe(0);
    const transitions = "sandbox_server_transitions_total";
    expect(await valueOf(fleet, transitions, { from: "absent", to: "idle" })).toBe(2);
    expect(await valueOf(fleet, transitions, { from: "occupied", to: "error" })).toBe(1);
    expect(await valueOf(fleet, transitions, { from: "idle", to: "error" })).toBe(0);
    const stays = "sandbox_server_status_duration_seconds";
    expect(await valueOf(fleet, `${stays}_sum`, { status: "occupied" })).toBe(45);
    expect(await valueOf(fleet, `${stays}_count`, { status: "idle" })).toBe(0);
    expect(await valueOf(fleet, "sandwatch_incidents", { state: "firing" })).toBe(1);
    expect(await valueOf(fleet, "sandwatch_polls_total", {})).toBe(3);
    expect(await valueOf(fleet, "sandwatch_store_commit_duration_seconds_sum", {})).toBe(0.006);
    expect(await valueOf(fleet, "sandwatch_poll_duration_seconds_sum", {})).toBe(0.75);
  });

  it("is counted through as many polls as show the same, and through scrapes between them", async () => {
    const fleet = meterFleet();
    const idle = (): Promise<number | undefined> =>
      valueOf(fleet, "sandbox_server_status_seconds_total", { status: "idle" });
    fleet.poll(listing({ a: "idle", b: "occupied" }), 0);
    fleet.poll(listing({ a: "idle", b: "occupied" }), 30);
    fleet.poll(listing({ a: "idle", b: "occupied" }), 31);
    expect(await idle()).toBe(61);
    fleet.poll(listing({ a: "idle", b: "occupied" }), 32);
    expect([await idle(), await idle()]).toEqual([93, 93]);
    fleet.poll(listing({ a: "error", b: "idle" }), 33);
    fleet.poll(listing({ a: "error", b: "idle" }), 34);
    expect(await idle()).toBe(93 + 33 + 34);
  });

  it("to an incident of a severity that was edited meanwhile is shown while it is open", async () => {
    const opened = judgeBy([{ ...serverError, severity: "info" }]);
    const fleet = meterFleet({}, watchFleet(research, { judge: opened }));
    const info = { severity: "info", state: "firing" };
    fleet.poll(listing({ a: "error" }));
    expect(await valueOf(fleet, "sandwatch_incidents", info)).toBe(1);
    fleet.poll(listing({ a: "idle" }));
    expect(await valueOf(fleet, "sandwatch_incidents", info)).toBeUndefined();
    expect(await valueOf(fleet, "sandwatch_incidents", { severity: "critical" })).toBe(0);
  });

  it("after a restart is counted from zero on for the names known from before", async () => {
    const before = watchFleet();
    before.poll(listing({ a: "idle" }));
    const fleet = meterFleet({}, before);
    const error = { server_name: "github", from: "idle", to: "error" };
    expect(await valueOf(fleet, "sandbox_server_transitions_total", error)).toBe(0);
    const idle = { server_name: "github", status: "idle" };
    expect(await valueOf(fleet, "sandbox_server_status_seconds_total", idle)).toBe(0);
  });

  it("to notifications is counted for each receiver", async () => {
    const fleet = meterFleet({
      receivers: ["oncall", "chat"],
      readOutbox: () =>
        Promise.resolve([
          { receiver: "chat", pending: 3, dead: 1, oldestCausedAtMs: 1_500 },
          { receiver: "not configured any more", pending: 1, dead: 0, oldestCausedAtMs: null },
        ]),
    });
    const { delivery } = fleet.metrics;
    delivery.attemptFailed("oncall", "timeout");
    delivery.delivered("oncall", 2.5);
    delivery.dead("oncall", "timeout");
    delivery.dead("oncall", "expired");
    const oncall = { receiver: "oncall" };
    const failures = "sandwatch_notification_failures_total";
    expect(await valueOf(fleet, failures, { ...oncall, reason: "timeout" })).toBe(1);
    expect(await valueOf(fleet, failures, { ...oncall, reason: "expired" })).toBe(1);
    expect(await valueOf(fleet, "sandwatch_notifications_total", oncall)).toBe(1);
    expect(await valueOf(fleet, "sandwatch_notification_delay_seconds_sum", oncall)).toBe(2.5);
    const chat = { receiver: "chat" };
    const oldest = "sandwatch_notification_oldest_pending_timestamp_seconds";
    expect(await valueOf(fleet, "sandwatch_notifications_pending", chat)).toBe(3);
    expect(await valueOf(fleet, "sandwatch_notifications_dead", chat)).toBe(1);
    expect(await valueOf(fleet, oldest, chat)).toBe(1.5);
    expect(await valueOf(fleet, oldest, oncall)).toBeUndefined();
    expect(await valueOf(fleet, "sandwatch_notifications_pending", oncall)).toBe(0);
  });

  it("to the outbox between two scrapes is forgotten when it is over", async () => {
    let oldestCausedAtMs: number | null = 1_000;
    const fleet = meterFleet({
      readOutbox: () =>
        Promise.resolve(
          oldestCausedAtMs === null
            ? []
            : [{ receiver: "oncall", pending: 1, dead: 0, oldestCausedAtMs }],
        ),
    });
    const oldest = "sandwatch_notification_oldest_pending_timestamp_seconds";
    expect(await valueOf(fleet, oldest, {})).toBe(1);
    oldestCausedAtMs = null;
    expect(await valueOf(fleet, oldest, {})).toBeUndefined();
    expect(await valueOf(fleet, "sandwatch_notifications_pending", {})).toBe(0);
  });
});

it("a store that cannot be read fails the scrape", async () => {
  const { render } = meterFleet({ readOutbox: () => Promise.reject(new Error("disk")) });
  await expect(render()).rejects.toThrow("disk");
});
