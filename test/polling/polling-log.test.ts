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

const outage: CallFailure = {
  kind: "failed",
  reason: "timeout",
  status: null,
  retryAfterMs: null,
  detail: "no whole answer within 10 s",
};

function start(judge = judgeBy([serverError, targetBlind])) {
  const lines: Line[] = [];
  const log = createLogger(
    { level: "info", format: "json" },
    { write: (line) => void lines.push(JSON.parse(line)) },
  );
  const pollingLog = createPollingLog(log);
  const fleet = watchFleet(research, { judge });
  /** The lines of one poll, without what every line has. */
  const poll = (outcome: Parameters<typeof fleet.poll>[0], failure: CallFailure | null = null) => {
    lines.length = 0;
    if (outcome !== "failed" || failure) pollingLog.polled(research, failure, 5);
    pollingLog.committed(fleet.watched, fleet.poll(outcome), 1);
    return lines.map(({ time, ...line }) => (time ? line : {}));
  };
  return { poll, pollingLog, lines };
}

describe("changes", () => {
  it("are one line each, with everything that tells which server it is", () => {
    const { poll } = start(judgeBy([]));
    poll(listing({ a: "idle", b: "idle", c: "idle" }));
    const lines = poll(listing({ a: "occupied", b: "error", c: "idle" }));
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

  it("are also a server's first sight and its end", () => {
    const { poll } = start(judgeBy([]));
    expect(poll(listing({ a: "idle" }))).toMatchObject([{ from: "absent", to: "idle" }]);
    expect(poll(listing({}))).toEqual([]);
    expect(poll(listing({}))).toMatchObject([{ from: "idle", to: "absent", server_id: "a" }]);
  });

  it("that are none are no lines", () => {
    const { poll } = start();
    poll(listing({ a: "idle" }));
    expect(poll(listing({ a: "idle" }))).toEqual([]);
  });
});

it("names from the service reach a terminal without their control characters", () => {
  const { poll } = start(judgeBy([]));
  const odd = server("a", { serverName: "two\nlines \u001b[31m" });
  const box = { sandboxId: "box", status: "idle", benchmark: null, servers: [odd] } as const;
  const [line] = poll({ sandboxes: [box], complete: true });
  expect(line?.["msg"]).toBe("us/research two?lines ?[31m (a): absent -> idle");
  expect(line?.["server_name"]).toBe("two\nlines \u001b[31m");
});

describe("incidents", () => {
  it("of a server are one line a step", () => {
    const { poll } = start(
      judgeBy([{ ...serverError, for: { kind: "polls", polls: 2 }, remindEveryMs: 30_000 }]),
    );
    const steps = [
      listing({ a: "idle" }),
      listing({ a: "error" }),
      listing({ a: "error" }),
      listing({ a: "error" }),
      listing({ a: "idle" }),
    ].map((each) => poll(each).filter(({ event }) => event !== "server.changed"));
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

  it("that end before they fire are told as dropped", () => {
    const { poll } = start(judgeBy([{ ...serverError, for: { kind: "polls", polls: 9 } }]));
    poll(listing({ a: "error" }));
    const events = poll(listing({ a: "idle" })).map(({ event }) => event);
    expect(events).toEqual(["server.changed", "incident.dropped"]);
  });

  it("of a target name no server", () => {
    const { poll } = start(judgeBy([{ ...targetBlind, failing: { kind: "polls", polls: 1 } }]));
    const fired = poll("failed", outage).find(({ event }) => event === "incident.fired");
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
  it("are one line each, not one a failed poll", () => {
    const { poll } = start(judgeBy([]));
    poll(listing({}));
    const lines = [
      poll("failed", outage),
      poll("failed", outage),
      poll("failed", outage),
      poll(listing({})),
      poll(listing({})),
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

  it("do not repeat the words of an earlier failure where nothing was sent", () => {
    const { poll } = start(judgeBy([]));
    poll("failed", outage);
    poll(listing({}));
    expect(poll("failed")).toMatchObject([{ event: "target.lost", detail: null }]);
  });

  it("do not repeat the words of a failure whose turn broke", () => {
    const { poll, pollingLog, lines } = start(judgeBy([]));
    pollingLog.polled(research, outage, 5);
    pollingLog.turnFailed(research, new Error("disk full"));
    expect(lines).toMatchObject([{ level: "error", event: "poll.failed", key: "research" }]);
    expect(poll("failed")).toMatchObject([
      { event: "poll.recovered", lost_polls: 1 },
      { event: "target.lost", detail: null },
    ]);
  });

  it("of the store are said once, with how many polls came to nothing in between", () => {
    const { poll, pollingLog, lines } = start(judgeBy([]));
    for (let turn = 0; turn < 3; turn += 1) pollingLog.turnFailed(research, new Error("disk full"));
    expect(lines).toHaveLength(1);
    const [recovered, ...more] = poll(listing({}));
    expect(recovered).toMatchObject({ event: "poll.recovered", lost_polls: 3, key: "research" });
    expect(more).toEqual([]);
    expect(poll(listing({}))).toEqual([]);
  });
});

it("a refused key is said to be refused, and when it is asked about again", () => {
  const { pollingLog, lines } = start();
  const target: Target = { region: "eu", key: "evals" };
  pollingLog.refused(target, 300_000);
  expect(lines).toMatchObject([
    { level: "warn", event: "target.refused", region: "eu", key: "evals", retry_seconds: 300 },
  ]);
  expect(lines[0]?.["msg"]).toContain("every 5 minutes");
});
