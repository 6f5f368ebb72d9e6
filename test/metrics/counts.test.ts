import { describe, expect, it } from "vitest";
import type { Status } from "../../src/fleet/model.ts";
import { judgeBy, listing, research, server, serverError, watchFleet } from "../support/fleet.ts";
import { answered, failing, login, neverRun, ranProbe, unsent } from "../support/probes.ts";
import { meterFleet, parseExposition, valueOf } from "./exposition.ts";

describe("what happens to servers", () => {
  const seconds = "sandbox_server_status_seconds_total";
  const transitions = "sandbox_server_transitions_total";

  it("is counted in server-seconds, transitions and dwell times", async () => {
    const fleet = meterFleet();
    fleet.poll(listing({ a: "idle", b: "idle" }), 0);
    fleet.poll(listing({ a: "occupied", b: "idle" }), 30);
    fleet.poll(listing({ a: "error", b: "idle" }), 45);
    expect(await valueOf(fleet, seconds, { status: "idle" })).toBe(60 + 45);
    expect(await valueOf(fleet, seconds, { status: "occupied" })).toBe(45);
    expect(await valueOf(fleet, seconds, { status: "error" })).toBe(0);
    expect(await valueOf(fleet, transitions, { from: "absent", to: "idle" })).toBe(2);
    expect(await valueOf(fleet, transitions, { from: "occupied", to: "error" })).toBe(1);
    expect(await valueOf(fleet, transitions, { from: "idle", to: "error" })).toBe(0);
    const dwells = "sandbox_server_status_duration_seconds";
    expect(await valueOf(fleet, `${dwells}_sum`, { status: "occupied" })).toBe(45);
    expect(await valueOf(fleet, `${dwells}_count`, { status: "idle" })).toBe(0);
    expect(await valueOf(fleet, "sandwatch_incidents", { state: "firing" })).toBe(1);
    expect(await valueOf(fleet, "sandwatch_polls_total")).toBe(3);
    expect(await valueOf(fleet, "sandwatch_store_commit_duration_seconds_sum")).toBe(0.006);
    expect(await valueOf(fleet, "sandwatch_poll_duration_seconds_sum")).toBe(0.75);
  });

  it("is counted by name, also when servers of other names appear", async () => {
    const fleet = meterFleet();
    const named = (names: readonly string[]) => {
      const servers = names.map((name) => server(name, { name }));
      const sandbox = {
        id: "box",
        status: "idle" as const,
        benchmark: null,
        createdAt: null,
        servers,
      };
      return { complete: true, sandboxes: [sandbox] };
    };
    fleet.poll(named(["a"]), 0);
    fleet.poll(named(["a"]), 30);
    fleet.poll(named(["a", "b", "c"]), 30);
    const values = ["a", "b", "c"].flatMap((name) => [
      valueOf(fleet, seconds, { server_name: name, status: "idle" }),
      valueOf(fleet, transitions, { server_name: name, from: "absent", to: "idle" }),
    ]);
    expect(await Promise.all(values)).toEqual([60, 1, 0, 1, 0, 1]);
  });

  it("is counted from zero after a restart, for the names that are known", async () => {
    const before = watchFleet();
    before.poll(listing({ a: "idle" }));
    const fleet = meterFleet({}, before);
    const error = { server_name: "github", from: "idle", to: "error" };
    expect(await valueOf(fleet, transitions, error)).toBe(0);
    const idle = { server_name: "github", status: "idle" };
    expect(await valueOf(fleet, seconds, idle)).toBe(0);
  });

  it("is not shown of a target that has been down for too long, whose counters continue", async () => {
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
    const down = parseExposition(await render());
    const shown = ["sandbox_server_info", "sandbox_status", "sandbox_servers", "sandbox_sandboxes"];
    for (const name of ["sandbox_server_status", ...shown]) {
      expect([name, down.get(name)?.samples]).toEqual([name, []]);
    }
    for (const name of [seconds, transitions, "sandbox_server_status_duration_seconds"]) {
      expect(down.get(name)).toEqual(before.get(name));
    }
    expect(down.get("sandwatch_target_up")?.samples).toMatchObject([{ value: 0 }]);
    expect(down.get("sandbox_unobserved_seconds_total")?.samples).toMatchObject([{ value: 90 }]);
  });
});

describe("what happens to sandboxes", () => {
  const seconds = "sandbox_status_seconds_total";
  const transitions = "sandbox_transitions_total";
  const boxes = (sandboxes: Readonly<Record<string, Status | null>>) => ({
    complete: true,
    sandboxes: Object.entries(sandboxes).map(([id, status]) => {
      return { id, status, benchmark: null, createdAt: null, servers: [] };
    }),
  });

  it("is counted in sandbox-seconds and transitions, with or without servers", async () => {
    const fleet = meterFleet();
    fleet.poll(boxes({ a: "idle", b: "idle" }), 0);
    fleet.poll(boxes({ a: "occupied", b: "idle" }), 30);
    fleet.poll(boxes({ a: "error", b: "idle" }), 45);
    expect(await valueOf(fleet, seconds, { status: "idle" })).toBe(60 + 45);
    expect(await valueOf(fleet, seconds, { status: "occupied" })).toBe(45);
    expect(await valueOf(fleet, seconds, { status: "error" })).toBe(0);
    expect(await valueOf(fleet, transitions, { from: "absent", to: "idle" })).toBe(2);
    expect(await valueOf(fleet, transitions, { from: "occupied", to: "error" })).toBe(1);
    expect(await valueOf(fleet, transitions, { from: "idle", to: "error" })).toBe(0);
  });

  it("does not count a sandbox while complete listings lack it, nor time that is unobserved", async () => {
    const fleet = meterFleet();
    fleet.poll(boxes({ a: "idle", b: "idle" }), 0);
    fleet.poll(boxes({ a: "idle" }), 30);
    fleet.poll(boxes({ a: "idle" }), 30);
    fleet.poll("failed", 30);
    fleet.poll(boxes({ a: "idle" }), 30);
    expect(await valueOf(fleet, seconds, { status: "idle" })).toBe(60 + 30);
  });

  it("is counted by the status of its servers where a sandbox states none", async () => {
    const fleet = meterFleet();
    const [box] = listing({ a: "error" }).sandboxes;
    const silent = { complete: true, sandboxes: box ? [{ ...box, status: null }] : [] };
    fleet.poll(silent, 0);
    fleet.poll(silent, 30);
    expect(await valueOf(fleet, seconds, { status: "error" })).toBe(30);
    expect(await valueOf(fleet, "sandbox_status", { status: "error" })).toBe(1);
  });
});

describe("incidents", () => {
  it("are counted together, whether they belong to a target or not", async () => {
    const other = watchFleet({ region: "eu", key: "evals" });
    other.poll(listing({ a: "error", b: "error" }));
    const fleet = meterFleet(
      {
        readIncidentsWithoutTarget: () =>
          Promise.resolve([...other.watched.state.incidents.values()]),
      },
      watchFleet(research, { judge: judgeBy() }),
    );
    fleet.poll(listing({ a: "error" }));
    expect(await valueOf(fleet, "sandwatch_incidents", { state: "firing" })).toBe(3);
  });

  it("are each counted in one state", async () => {
    const judge = judgeBy();
    const fleet = meterFleet(
      {
        readSuppressions: () => ({
          acknowledgedBy: new Map([["incident-1", "anna"]]),
          silences: { active: 1, pending: 2 },
          windows: [{ name: "weekly", isOpen: true }],
        }),
        readIncidentsWithoutTarget() {
          const [, , one, other] = fleet.watched.state.incidents.values();
          const phase = one?.phase.name === "firing" && { ...one.phase, notifiedAtMs: null };
          if (!one || !other || !phase) return Promise.resolve([]);
          return Promise.resolve([
            { ...one, id: "silenced", phase },
            { ...other, id: "inhibited", phase, inhibitedBy: "incident-2" },
          ]);
        },
      },
      watchFleet(research, { judge }),
    );
    fleet.poll(listing({ a: "error", b: "error", c: "error", d: "error" }));
    const states = ["pending", "inhibited", "silenced", "acknowledged", "firing"];
    const rule = "server-error";
    const counts = states.map((state) => valueOf(fleet, "sandwatch_incidents", { rule, state }));
    expect(await Promise.all(counts)).toEqual([0, 1, 1, 1, 3]);
    expect(await valueOf(fleet, "sandwatch_silences", { state: "active" })).toBe(1);
    expect(await valueOf(fleet, "sandwatch_silences", { state: "pending" })).toBe(2);
    expect(await valueOf(fleet, "sandwatch_maintenance_active", { name: "weekly" })).toBe(1);
  });

  it("are shown under the severity with which they opened while they are open", async () => {
    const opened = judgeBy([{ ...serverError, severity: "info" }]);
    const fleet = meterFleet({}, watchFleet(research, { judge: opened }));
    const info = { severity: "info", state: "firing" };
    fleet.poll(listing({ a: "error" }));
    expect(await valueOf(fleet, "sandwatch_incidents", info)).toBe(1);
    fleet.poll(listing({ a: "idle" }));
    expect(await valueOf(fleet, "sandwatch_incidents", info)).toBeUndefined();
  });
});

it("requests are counted by their codes, and their durations without", async () => {
  const fleet = meterFleet();
  const request = { region: "us", operation: "get_user" };
  fleet.metrics.service.requested({ ...request, code: "200", durationMs: 40 });
  fleet.metrics.service.requested({ ...request, code: "timeout", durationMs: 10_000 });
  const requests = "sandwatch_api_requests_total";
  expect(await valueOf(fleet, requests, { ...request, code: "200" })).toBe(1);
  expect(await valueOf(fleet, requests, { ...request, code: "timeout" })).toBe(1);
  const duration = "sandwatch_api_request_duration_seconds_sum";
  expect(await valueOf(fleet, duration, request)).toBe(10.04);
});

describe("notifications", () => {
  const oldest = "sandwatch_notification_oldest_pending_timestamp_seconds";

  it("are counted by receiver", async () => {
    const fleet = meterFleet({
      receivers: ["oncall", "chat"],
      readOutbox: () =>
        Promise.resolve([
          { receiver: "chat", pending: 3, dead: 1, oldestCausedAtMs: 1_500 },
          { receiver: "not configured any more", pending: 1, dead: 0, oldestCausedAtMs: 1_000 },
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
    expect(await valueOf(fleet, "sandwatch_notifications_dead", { receiver: "chat" })).toBe(1);
    expect(await valueOf(fleet, oldest)).toBe(1.5);
  });

  it("that wait are forgotten when they are delivered", async () => {
    let waiting = [{ receiver: "oncall", pending: 1, dead: 0, oldestCausedAtMs: 1_000 }];
    const fleet = meterFleet({ readOutbox: () => Promise.resolve(waiting) });
    expect(await valueOf(fleet, oldest)).toBe(1);
    waiting = [];
    expect(await valueOf(fleet, oldest)).toBeUndefined();
    expect(await valueOf(fleet, "sandwatch_notifications_pending")).toBe(0);
  });
});

describe("a probe", () => {
  const target = 'region="us",key="research"';
  const probe = `probe="login",${target}`;
  const linesOf = (text: string): readonly string[] =>
    text
      .split("\n")
      .filter((line) => /^sandwatch_(?:probe|universes|user)/.test(line))
      .toSorted();

  it("has no series before its first run, nor if nothing was observed for too long", async () => {
    const { watched, run } = ranProbe();
    const { render } = meterFleet({ probes: [watched] });
    expect(linesOf(await render())).toEqual([]);
    run({ ...answered, universes: 5, lastUsedAtMs: 1_500 });
    const all = [
      `sandwatch_probe_duration_seconds{${probe},operation="get_user"} 0.04`,
      `sandwatch_probe_success{${probe},operation="get_user"} 1`,
      `sandwatch_universes{${target}} 5`,
      `sandwatch_user_last_used_timestamp_seconds{${probe}} 1.5`,
    ];
    expect(linesOf(await render())).toEqual(all);
    run(unsent);
    run(unsent);
    expect(linesOf(await render())).toEqual(all);
    run(unsent);
    expect(linesOf(await render())).toEqual([]);
    run(failing());
    expect(linesOf(await render())).toEqual([
      `sandwatch_probe_duration_seconds{${probe},operation="get_user"} 0.04`,
      `sandwatch_probe_success{${probe},operation="get_user"} 0`,
    ]);
  });

  it("is shown with the latest count of the universes of its target", async () => {
    const [one, other] = ["one", "other"].map((name, id) => {
      const named = { ...login, operation: "list_universes", name } as const;
      return ranProbe(undefined, { probe: named, restored: neverRun(named, id) });
    });
    const fleet = meterFleet({ probes: [one, other].flatMap((each) => each?.watched ?? []) });
    one?.run({ ...answered, universes: 1 }, { seconds: 10 });
    other?.run({ ...answered, universes: 2 }, { seconds: 20 });
    expect(await valueOf(fleet, "sandwatch_universes")).toBe(2);
    one?.run({ ...answered, universes: 0 }, { seconds: 30 });
    expect(await valueOf(fleet, "sandwatch_universes")).toBe(0);
  });
});
