import { describe, expect, it } from "vitest";
import type { Target } from "../../src/core/model.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createPollingLog } from "../../src/polling/polling-log.ts";
import type { CallFailure } from "../../src/polling/listing-caller.ts";
import {
  judgeBy,
  listing,
  research,
  server,
  serverError,
  targetBlind,
  watchFleet,
} from "../support/fleet.ts";

type Line = Readonly<Record<string, unknown>>;

function readLines(text: string): readonly Line[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line): Line => JSON.parse(line));
}

const outage: CallFailure = {
  kind: "failed",
  reason: "timeout",
  status: null,
  retryAfterMs: null,
  detail: "no whole answer within 10 s",
};

function start(judge = judgeBy([serverError, targetBlind]), level: "debug" | "info" = "info") {
  const lines: Line[] = [];
  const log = createLogger(
    { level, format: "json" },
    { write: (text) => void lines.push(...readLines(text)) },
  );
  const pollingLog = createPollingLog(log);
  const fleet = watchFleet(research, { judge });
  /** The lines of one poll, without what every line has. */
  const poll = async (
    outcome: Parameters<typeof fleet.poll>[0],
    failure: CallFailure | null = null,
  ) => {
    lines.length = 0;
    if (outcome !== "failed" || failure) pollingLog.polled(research, failure, 5);
    await pollingLog.committed(fleet.watched, fleet.poll(outcome), 1);
    return lines.map(({ time, ...line }) => (time ? line : {}));
  };
  /** The same where there are more lines than are written at once: how many of each event. */
  const pollMany = async (outcome: Parameters<typeof fleet.poll>[0]) => {
    lines.length = 0;
    await pollingLog.committed(fleet.watched, fleet.poll(outcome), 1);
    const byEvent = Map.groupBy(lines, (line) => String(line["event"]));
    return Object.fromEntries(Array.from(byEvent, ([event, { length }]) => [event, length]));
  };
  return { poll, pollMany, pollingLog, lines };
}

describe("changes", () => {
  it("of a first listing are one line with counts, all later ones a line each in any number", async () => {
    const { pollMany, lines } = start(judgeBy([]));
    const all = (status: "idle" | "occupied") =>
      listing(Object.fromEntries(Array.from({ length: 1_005 }, (_, id) => [`s${id}`, status])));
    expect(await pollMany(all("idle"))).toEqual({ "target.first_listing": 1 });
    expect(lines.at(-1)).toMatchObject({
      level: "info",
      region: "us",
      key: "research",
      servers: 1_005,
      idle: 1_005,
      msg: "us/research lists 1005 servers: 1005 idle",
    });
    expect(await pollMany(all("occupied"))).toEqual({ "server.changed": 1_005 });
  });

  it("of a first listing are a line each for debugging", async () => {
    const { poll } = start(judgeBy([]), "debug");
    const lines = await poll(listing({ a: "idle", b: "error" }));
    expect(lines.map(({ level, event, msg }) => [level, event, msg])).toEqual([
      ["info", "target.first_listing", "us/research lists 2 servers: 1 idle, 1 in error"],
      ["debug", "server.changed", "us/research github (a): absent -> idle"],
      ["debug", "server.changed", "us/research github (b): absent -> error"],
    ]);
  });

  it("are one line each, with everything that tells which server it is", async () => {
    const { poll } = start(judgeBy([]));
    await poll(listing({ a: "idle", b: "idle", c: "idle" }));
    const lines = await poll(listing({ a: "occupied", b: "error", c: "idle" }));
    const changed = {
      level: "info",
      event: "server.changed",
      region: "us",
      key: "research",
      sandbox_id: "box",
      server_name: "github",
      from: "idle",
    };
    expect(lines).toEqual([
      {
        ...changed,
        server_id: "a",
        to: "occupied",
        msg: "us/research github (a): idle -> occupied",
      },
      { ...changed, server_id: "b", to: "error", msg: "us/research github (b): idle -> error" },
    ]);
  });

  it("are told like this in any number, whatever the ids and names are", async () => {
    const { poll } = start(judgeBy([]));
    const uuid = (at: number) => `${String(at).padStart(8, "0")}-4b1e-4c5f-8d6a-0123456789ab`;
    const others = Array.from({ length: 600 }, (_, at) => `name-${at}`);
    const names = ["github", null, "two\nlines", 'a "quoted" 沙箱', "cafebabe", ...others];
    const servers = Array.from({ length: 5_000 }, (_, at) => ({
      sandboxId: at % 7 === 0 ? `box-${at}` : uuid(at),
      serverId: at % 11 === 0 ? "not a UUID" : uuid(at + 10_000),
      serverName: names[at % names.length] ?? null,
    }));
    const all = (status: "idle" | "occupied", count: number) => ({
      sandboxes: servers.slice(0, count).map(({ sandboxId, serverId, serverName }, at) => ({
        id: sandboxId,
        status: "idle" as const,
        benchmark: null,
        servers: [server(serverId, { name: serverName, status: at % 9 === 0 ? "idle" : status })],
      })),
      complete: true,
    });
    await poll(all("idle", 5_000));
    // Of those that a listing lacks nothing changed.
    const lines = await poll(all("occupied", 4_990));
    const changed = servers.filter((_, at) => at % 9 !== 0 && at < 4_990);
    const named = [
      "github (?)",
      "?",
      "two?lines (?)",
      'a "quoted" 沙箱 (?)',
      "cafebabe (?)",
    ].concat(others.map((name) => `${name} (?)`));
    expect(lines).toEqual(
      changed.map(({ sandboxId, serverId, serverName }) => {
        const shown = named[names.indexOf(serverName)]?.replace("?)", `${serverId.slice(0, 8)})`);
        return {
          level: "info",
          event: "server.changed",
          region: "us",
          key: "research",
          sandbox_id: sandboxId,
          server_id: serverId,
          server_name: serverName,
          from: "idle",
          to: "occupied",
          msg: `us/research ${shown === "?" ? serverId.slice(0, 8) : shown}: idle -> occupied`,
        };
      }),
    );
  });

  it("are also a server's first sight and its end", async () => {
    const { poll } = start(judgeBy([]));
    await poll(listing({}));
    expect(await poll(listing({ a: "idle" }))).toMatchObject([{ from: "absent", to: "idle" }]);
    expect(await poll(listing({}))).toEqual([]);
    expect(await poll(listing({}))).toMatchObject([{ from: "idle", to: "absent", server_id: "a" }]);
  });

  it("that are none are no lines", async () => {
    const { poll } = start();
    await poll(listing({ a: "idle" }));
    expect(await poll(listing({ a: "idle" }))).toEqual([]);
  });
});

it("names from the service reach a terminal without their control characters", async () => {
  const { poll } = start(judgeBy([]));
  await poll(listing({}));
  const odd = server("a", { name: "two\nlines \u001b[31m" });
  const box = { id: "box", status: "idle", benchmark: null, servers: [odd] } as const;
  const [line] = await poll({ sandboxes: [box], complete: true });
  expect(line?.["msg"]).toBe("us/research two?lines ?[31m (a): absent -> idle");
  expect(line?.["server_name"]).toBe("two\nlines \u001b[31m");
});

describe("incidents", () => {
  it("of a server are one line a step", async () => {
    const { poll } = start(
      judgeBy([{ ...serverError, for: { kind: "polls", polls: 2 }, remindEveryMs: 30_000 }]),
    );
    const steps: Line[][] = [];
    for (const status of ["idle", "error", "error", "error", "idle"] as const) {
      const lines = await poll(listing({ a: status }));
      steps.push(lines.filter(({ event }) => String(event).startsWith("incident.")));
    }
    const told = {
      region: "us",
      key: "research",
      incident_id: "incident-1",
      rule: "server-error",
      severity: "critical",
      sandbox_id: "box",
      server_id: "a",
      server_name: "github",
    };
    const line = (step: string, level: string, status: string) => ({
      ...told,
      event: `incident.${step}`,
      level,
      status,
      msg: `server-error ${step}: us/research github (a) ${status}`,
    });
    expect(steps).toEqual([
      [],
      [line("opened", "info", "error")],
      [line("fired", "warn", "error")],
      [line("reminded", "warn", "error")],
      [{ ...line("resolved", "info", "idle"), reason: "recovered" }],
    ]);
  });

  it("that end before they fire are told as dropped", async () => {
    const { poll } = start(judgeBy([{ ...serverError, for: { kind: "polls", polls: 9 } }]));
    await poll(listing({ a: "error" }));
    const events = (await poll(listing({ a: "idle" }))).map(({ event }) => event);
    expect(events).toEqual(["server.changed", "incident.dropped"]);
  });

  it("of a target name no server", async () => {
    const { poll } = start(judgeBy([{ ...targetBlind, for: { kind: "polls", polls: 1 } }]));
    const fired = (await poll("failed", outage)).find(({ event }) => event === "incident.fired");
    expect(Object.keys(fired ?? {}).toSorted()).toEqual([
      "event",
      "incident_id",
      "key",
      "level",
      "msg",
      "region",
      "rule",
      "severity",
    ]);
  });
});

describe("the loss and return of sight", () => {
  it("are one line each, not one a failed poll", async () => {
    const { poll } = start(judgeBy([]));
    await poll(listing({}));
    const lines = [
      await poll("failed", outage),
      await poll("failed", outage),
      await poll("failed", outage),
      await poll(listing({})),
      await poll(listing({})),
    ];
    expect(lines).toEqual([
      [
        {
          level: "warn",
          event: "target.lost",
          region: "us",
          key: "research",
          reason: "timeout",
          detail: "no whole answer within 10 s",
          msg: "us/research cannot be seen: no whole answer within 10 s",
        },
      ],
      [],
      [],
      [
        {
          level: "info",
          event: "target.returned",
          region: "us",
          key: "research",
          msg: "us/research can be seen again",
        },
      ],
      [],
    ]);
  });

  it("do not repeat the words of an earlier failure where nothing was sent", async () => {
    const { poll } = start(judgeBy([]));
    await poll("failed", outage);
    await poll(listing({}));
    expect(await poll("failed")).toMatchObject([{ event: "target.lost", detail: null }]);
  });

  it("do not repeat the words of a failure whose turn broke", async () => {
    const { poll, pollingLog, lines } = start(judgeBy([]));
    pollingLog.polled(research, outage, 5);
    pollingLog.turnFailed(research, new Error("disk full"));
    expect(lines).toMatchObject([{ level: "error", event: "poll.failed", key: "research" }]);
    expect(await poll("failed")).toMatchObject([
      { event: "poll.recovered", lost_polls: 1 },
      { event: "target.lost", detail: null },
    ]);
  });

  it("of the store are said once, with how many polls came to nothing in between", async () => {
    const { poll, pollingLog, lines } = start(judgeBy([]));
    for (let turn = 0; turn < 3; turn += 1) pollingLog.turnFailed(research, new Error("disk full"));
    expect(lines).toHaveLength(1);
    const [recovered, ...more] = await poll(listing({}));
    expect(recovered).toMatchObject({ event: "poll.recovered", lost_polls: 3, key: "research" });
    expect(more).toEqual([]);
    expect(await poll(listing({}))).toEqual([]);
  });
});

it("a refused key is said to be refused, and when it is asked about again", () => {
  const { pollingLog, lines } = start();
  const target: Target = { region: "eu", key: "evals" };
  pollingLog.refused(target, 30_000);
  expect(lines).toMatchObject([
    { level: "warn", event: "target.refused", region: "eu", key: "evals", retry_seconds: 30 },
  ]);
  expect(lines[0]?.["msg"]).toContain("at least every 5 minutes");
});
