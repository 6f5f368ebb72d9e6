import { describe, expect, it } from "vitest";
import { listNotifications } from "../../src/api/operations/notifications.ts";
import { sendReport } from "../../src/api/operations/reports.ts";
import { createScheduledReports } from "../../src/app/scheduled-reports.ts";
import { storedSources } from "../../src/reports/report-sources.ts";
import { openDelivery } from "../notify/support/delivery.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import { startSmtpPeer } from "../notify/support/smtp-peer.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { events } from "../support/heard.ts";
import { testConfig } from "../support/test-config.ts";
import { watchWorld, type WatchedWorld, type WorldOptions } from "../support/watched-world.ts";
import { webhookSecret } from "../support/webhook-peer.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const fridayMs = Date.UTC(2026, 10, 20, 12);
/** 08:00 in Berlin. */
const mondayMs = Date.UTC(2026, 10, 23, 7);

const weekly = {
  name: "weekly",
  schedule: "weekly",
  time_zone: "Europe/Berlin",
  receivers: ["oncall"],
};

/** A world that has been polled for a while on a Friday. */
async function start(options: WorldOptions = {}): Promise<WatchedWorld> {
  const world = await watchWorld({ startsAtMs: fridayMs, reports: [weekly], ...options });
  world.show(0, "occupied");
  await world.poll(3);
  return world;
}

async function passUntil(world: WatchedWorld, utcMs: number): Promise<void> {
  world.clock.advance(utcMs - world.clock.now().utcMs);
  await world.daemon().runOnce();
}

const reported = ({ alerts }: WatchedWorld) =>
  alerts.flatMap(({ type, data }) => (type === "report" ? [data.summary] : []));

describe("a scheduled report", () => {
  it("is sent once when it is due in its time zone, about the period before", async () => {
    const external_url = "https://ops.example.com/sandwatch";
    const world = await start({ http: { external_url } });
    await passUntil(world, mondayMs - 1);
    expect(reported(world)).toEqual([]);
    await passUntil(world, mondayMs);
    await passUntil(world, mondayMs + hourMs);
    expect(reported(world)).toHaveLength(1);
    const [{ data } = { data: null }] = world.alerts.filter(({ type }) => type === "report");
    expect(data).toMatchObject({
      rule: "weekly",
      summary: expect.stringMatching(
        /^weekly, 2026-11-16 to 2026-11-22 \(Europe\/Berlin\): 33\.3% occupied; peak 1 of 3 servers, headroom 2; 0\.0% in error, 0 incidents; coverage /,
      ),
      incidents: [],
      report: {
        from: "2026-11-15T23:00:00.000Z",
        to: "2026-11-22T23:00:00.000Z",
        tz: "Europe/Berlin",
        notes: [expect.stringContaining("Coverage is below 0.1%")],
        rows: [{ region: "us", key: "research", occupied_peak: 1 }],
      },
    });
    const page = data?.external_url?.replace(external_url, await world.address()) ?? "";
    const response = await fetch(page);
    expect(await response.text()).toContain("2026-11-16 00:00+01:00 to 2026-11-23 00:00+01:00");
    expect(events(world).filter((event) => event === "report.queued")).toHaveLength(1);
  });

  it("is sent at the next start if sandwatch did not run when it was due: the latest one only", async () => {
    const world = await start();
    world.clock.advance(mondayMs + 8 * dayMs - world.clock.now().utcMs);
    await world.restart();
    await world.daemon().runOnce();
    await world.restart();
    await world.daemon().runOnce();
    expect(reported(world)).toEqual([expect.stringContaining("2026-11-23 to 2026-11-29")]);
    expect(world.log).toContainEqual(
      expect.objectContaining({
        event: "report.queued",
        report: "weekly",
        late_seconds: 24 * 3_600,
        msg: "report weekly: 1 notification queued; it was due 1d ago",
      }),
    );
  });

  it("is about the period before it was due, however late it is made", async () => {
    const world = await start({ reports: [{ ...weekly, schedule: "daily" }] });
    world.clock.advance(mondayMs + 18 * hourMs - world.clock.now().utcMs);
    await world.restart();
    await world.daemon().runOnce();
    expect(reported(world)).toEqual([
      expect.stringContaining("weekly, 2026-11-22 (Europe/Berlin)"),
    ]);
  });

  it("is not sent for the past when it is configured, is configured again or gets another schedule", async () => {
    const world = await start();
    const tuesdayMs = mondayMs + dayMs;
    await passUntil(world, tuesdayMs);
    expect(reported(world)).toHaveLength(1);
    for (const reports of [
      [weekly, { ...weekly, name: "second" }],
      [{ ...weekly, schedule: "30 7 * * *" }],
      [],
      [{ ...weekly, time_zone: "UTC" }],
    ]) {
      await world.restart({ reports });
      await passUntil(world, world.clock.now().utcMs + 60_000);
    }
    expect(reported(world)).toHaveLength(1);
    await world.restart({ reports: [{ ...weekly, schedule: "0 9 * * *", range: "yesterday" }] });
    await passUntil(world, tuesdayMs + 2 * hourMs);
    expect(reported(world).slice(1)).toEqual([expect.stringContaining("weekly, 2026-11-23 (")]);
  });

  it("says that nothing was observed where there is no history", async () => {
    const world = await watchWorld({ startsAtMs: mondayMs - hourMs, reports: [weekly] });
    await passUntil(world, mondayMs);
    expect(reported(world)).toEqual([
      "weekly, 2026-11-16 to 2026-11-22 (Europe/Berlin): nothing observed; 0 incidents",
    ]);
  });

  it("is not suppressed by silences, and is dead-lettered by a receiver that fails while others get it", async () => {
    const { origin, requests } = await startReceiverServer(status(500));
    const world = await start();
    const [oncall] = receiversOf(world);
    const broken = { name: "broken", type: "slack", url: origin, give_up_after: "1m" };
    await world.restart({
      reports: [{ ...weekly, receivers: ["broken", "oncall"] }],
      alerts: {
        receivers: [broken, oncall],
        maintenance: [{ name: "all", start: "0 0 * * *", duration: "1d", match: { rule: "*" } }],
      },
    });
    const states = async () => {
      const { notifications } = await world.daemon().api(listNotifications, {});
      const reports = notifications.filter(({ type }) => type === "report");
      return reports.map(({ receiver, state }) => `${receiver} ${state}`).toSorted();
    };
    await passUntil(world, mondayMs);
    expect(await states()).toEqual(["broken pending", "oncall delivered"]);
    for (const minute of [1, 2, 3]) await passUntil(world, mondayMs + minute * 60_000);
    expect(await states()).toEqual(["broken dead", "oncall delivered"]);
    expect(requests.length).toBeGreaterThan(1);
    expect(reported(world)).toHaveLength(1);
  });

  it("is dead-lettered if its receiver has become one that takes no reports", async () => {
    const world = await start();
    world.peer.answer(500);
    await passUntil(world, mondayMs);
    const pager = { name: "oncall", type: "pagerduty", routing_key: "0".repeat(32) };
    await world.restart({ reports: [], alerts: { receivers: [pager] } });
    await passUntil(world, mondayMs + hourMs);
    const { notifications } = await world.daemon().api(listNotifications, { state: "dead" });
    expect(notifications).toMatchObject([{ type: "report", last_reason: "rejected" }]);
  });

  it("is an e-mail with the page of the report as a file", async () => {
    const { port, emails } = await startSmtpPeer();
    const world = await start();
    const mail = {
      name: "mail",
      type: "email",
      host: "127.0.0.1",
      port,
      tls: "none",
      from: "sandwatch@example.com",
      to: ["planners@example.com"],
    };
    await world.restart({
      reports: [{ ...weekly, receivers: ["mail"] }],
      alerts: { receivers: [mail] },
    });
    await passUntil(world, mondayMs);
    const [email] = emails;
    expect(email?.headers.get("x-sandwatch-type")).toBe("report");
    const [, file = ""] = email?.raw.split("filename=sandwatch-weekly-2026-11-16.html") ?? [];
    const encoded = file.split("\r\n\r\n")[1]?.split("\r\n--")[0] ?? "";
    const html = Buffer.from(encoded, "base64").toString();
    expect(html).toMatch(/^<!doctype html>[^]*33\.3%[^]*<\/html>/);
  });
});

describe("a report that is sent by hand", () => {
  it("goes to its receivers as of now, beside its schedule", async () => {
    const world = await start({ reports: [{ ...weekly, range: "1h" }] });
    const asked = { name: "weekly", dry_run: true };
    const dry = await world.daemon().api(sendReport, asked);
    expect(dry).toEqual({
      dry_run: true,
      receivers: ["oncall"],
      summary: expect.stringMatching(/^weekly, 2026-11-20 12:00 to 2026-11-20 13:00 \(Europe/),
      lines: [
        expect.stringMatching(/^Note: Coverage is/),
        expect.stringMatching(/^us\/research: 33\.3% occupied; /),
      ],
    });
    await world.poll();
    expect(reported(world)).toEqual([]);
    const { summary } = await world.daemon().api(sendReport, { name: "weekly" });
    await world.poll();
    expect(reported(world)).toEqual([summary]);
    await passUntil(world, mondayMs);
    expect(reported(world)).toHaveLength(2);
    const message = "There is no report monthly in the configuration. Configured: weekly.";
    await expect(world.daemon().api(sendReport, { name: "monthly" })).rejects.toThrow(message);
  });

  it("is about the keys and regions that it names alone", async () => {
    const cases = [
      [{ keys: ["research"] }, ["us/research", "eu/research"], "of 6 servers"],
      [{ regions: ["eu"] }, ["eu/research", "eu/ops"], "of 6 servers"],
      [{ keys: ["ops"], regions: ["eu"] }, ["eu/ops"], "of 3 servers"],
      [{}, ["us/research", "us/ops", "eu/research", "eu/ops"], "of 12 servers"],
    ] as const;
    const reports = cases.map(([chosen], at) => {
      return { ...weekly, name: `report-${at}`, range: "1h", ...chosen };
    });
    const world = await start({ regions: ["us", "eu"], keys: ["research", "ops"], reports });
    for (const [at, [, targets, servers]] of cases.entries()) {
      const asked = { name: `report-${at}`, dry_run: true };
      const { summary, lines } = await world.daemon().api(sendReport, asked);
      const rows = lines.filter((line) => !line.startsWith("Note: "));
      expect(new Set(rows.map((line) => line.split(":")[0]))).toEqual(new Set(targets));
      expect(summary).toContain(servers);
    }
  });

  it("has the busiest rows of those that are too many for a message", async () => {
    const others = Array.from({ length: 102 }, (_, index) => `a${index}`);
    const reports = [{ ...weekly, range: "1h" }];
    const world = await start({ keys: ["z", ...others], servers: 1, reports });
    const { lines } = await world.daemon().api(sendReport, { name: "weekly", dry_run: true });
    const rows = lines.filter((line) => line.startsWith("us/"));
    expect(rows).toHaveLength(100);
    expect(rows).toContainEqual(expect.stringMatching(/^us\/z: 100\.0% occupied; /));
    expect(lines.at(-1)).toBe("… and 3 more");
  });
});

it("reports are due at once, though the clock of the replica that sends them is ahead", async () => {
  const clock = createFakeClock(mondayMs - 1);
  const { store, notifier } = openDelivery({}, { clock });
  const { reports } = testConfig({
    regions: { us: { base_url: "https://us.example.com" } },
    keys: [{ name: "research", api_key: "none" }],
    alerts: { receivers: [{ name: "oncall", type: "slack", url: "https://slack.example.com" }] },
    reports: [weekly],
  });
  const scheduled = createScheduledReports(reports, {
    reports: storedSources(store.store, []),
    store: store.store,
    clock,
    log: captureLog().log,
    retryTimes: notifier.freshTimes,
    onOutbox() {},
  });
  await scheduled.adopt();
  clock.advance(1);
  for (const chore of scheduled.chores) await chore.step();
  await scheduled.sending.send("weekly", false);
  expect(await store.outbox.ready("oncall", 9, [])).toHaveLength(2);
});

/** As they are written. */
function receiversOf({ peer }: WatchedWorld): readonly object[] {
  return [{ name: "oncall", type: "webhook", url: peer.url, secret: webhookSecret }];
}
