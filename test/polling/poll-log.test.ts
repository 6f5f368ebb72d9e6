import { describe, expect, it } from "vitest";
import { logPoll } from "../../src/polling/poll-log.ts";
import { captureLog } from "../support/capture-log.ts";
import type { Line } from "../support/capture-log.ts";
import {
  judgeBy,
  listing,
  research,
  serverError,
  targetDown,
  watchFleet,
} from "../support/fleet.ts";

const outage = "no complete response within 10 s";

function start(judge = judgeBy([serverError, targetDown]), level: "debug" | "info" = "info") {
  const { log, lines } = captureLog(level);
  const fleet = watchFleet(research, { judge });
  /** The lines of one poll. */
  const poll = async (
    outcome: Parameters<typeof fleet.poll>[0],
    detail: string | null = null,
  ): Promise<readonly Line[]> => {
    await logPoll(log, research, fleet.poll(outcome), { detail, lostPolls: 0 });
    return lines.splice(0);
  };
  return { poll };
}

describe("changes", () => {
  it("of a first listing are one line with counts, all later ones a line each in any number", async () => {
    const { poll } = start(judgeBy([]));
    const all = (status: "idle" | "occupied") =>
      listing(Object.fromEntries(Array.from({ length: 1_005 }, (_, id) => [`s${id}`, status])));
    expect(await poll(all("idle"))).toMatchObject([
      {
        level: "info",
        event: "target.first_listing",
        region: "us",
        key: "research",
        servers: 1_005,
        idle: 1_005,
        msg: "us/research lists 1005 servers: 1005 idle",
      },
    ]);
    const lines = await poll(all("occupied"));
    expect(new Set(lines.map(({ event }) => event))).toEqual(new Set(["server.changed"]));
    expect(lines).toHaveLength(1_005);
  });

  it("are one line each, with everything that identifies the server", async () => {
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
    const shared = {
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
      ...shared,
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
});

describe("a target that goes down and comes up", () => {
  it("is one line each, not one a failed poll", async () => {
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
          detail: "no complete response within 10 s",
          msg: "polls of us/research fail: no complete response within 10 s",
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
          msg: "polls of us/research succeed again",
        },
      ],
      [],
    ]);
  });
});
