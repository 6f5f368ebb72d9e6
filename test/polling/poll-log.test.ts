import { describe, expect, it } from "vitest";
import type { ListedSandbox } from "../../src/fleet/snapshot.ts";
import { createCommitLoop } from "../../src/polling/commit-loop.ts";
import { pollLines } from "../../src/polling/poll-log.ts";
import { captureLog } from "../support/capture-log.ts";
import { judgeBy, listing, research, serverError, watchFleet } from "../support/fleet.ts";
import { server as fleetServer } from "../support/fleet.ts";

function start(judge = judgeBy([]), least: "info" | "debug" = "info") {
  const { log, lines } = captureLog(least);
  const fleet = watchFleet(research, { judge });
  const commits = createCommitLoop(log);
  /** The lines of one poll. */
  const poll = async (outcome: Parameters<typeof fleet.poll>[0]) => {
    const detail = outcome === "failed" ? "no complete response within 10 s" : null;
    const verdict = fleet.poll(outcome);
    const { incidents, at } = verdict;
    const own = pollLines(log, research, verdict, { detail, lostPolls: 0 });
    await commits.publish({ target: research, incidents, atMs: at.utcMs, lines: own });
    return lines.splice(0);
  };
  /** Each line of one poll in short. */
  const say = async (outcome: Parameters<typeof fleet.poll>[0]) =>
    (await poll(outcome)).map(({ level, event, msg }) =>
      [level, event, msg].map(String).join(": "),
    );
  return { poll, say };
}

const server = { sandbox_id: "box", server_id: "a", server_name: "github" };

it("changes of a first listing are one line with counts, all later ones a line each in any number", async () => {
  const { poll, say } = start();
  const all = (status: "idle" | "occupied") =>
    listing(Object.fromEntries(Array.from({ length: 1_005 }, (_, id) => [`s${id}`, status])));
  expect(await poll(all("idle"))).toMatchObject([
    {
      level: "info",
      event: "target.first_listing",
      ...research,
      servers: 1_005,
      idle: 1_005,
      msg: "us/research lists 1,005 servers in 1 sandbox: 1,005 idle",
    },
  ]);
  const lines = await say(all("occupied"));
  expect(lines[7]).toBe("info: server.changed: us/research github (s7): idle -> occupied");
  expect(lines.filter((line) => line.startsWith("info: server.changed"))).toHaveLength(1_005);
});

it("a change is logged with everything that identifies the server", async () => {
  const { poll } = start();
  await poll(listing({ a: "idle", b: "idle" }));
  expect(await poll(listing({ a: "error", b: "idle" }))).toEqual([
    {
      level: "info",
      event: "server.changed",
      ...research,
      ...server,
      from: "idle",
      to: "error",
      msg: "us/research github (a): idle -> error",
    },
  ]);
});

describe("a sandbox", () => {
  type BoxStatus = ListedSandbox["status"];
  const box = (id: string, status: BoxStatus, ...servers: readonly BoxStatus[]): ListedSandbox => ({
    id,
    status,
    benchmark: "MCP_Atlas",
    createdAt: null,
    servers: servers.map((each, at) => fleetServer(`${id}-${at}`, { status: each })),
  });
  const listed = (...sandboxes: readonly ListedSandbox[]) => ({ complete: true, sandboxes });
  const first = box("first", "idle", "idle");

  it("that appears or disappears with its servers is one line with their number", async () => {
    const { poll, say } = start();
    await poll(listed(first));
    expect(await poll(listed(first, box("b", "idle", "idle", "error")))).toEqual([
      {
        level: "info",
        event: "sandbox.changed",
        ...research,
        sandbox_id: "b",
        benchmark: "MCP_Atlas",
        from: "absent",
        to: "idle",
        servers: 2,
        msg: "us/research sandbox b: absent -> idle (2 servers)",
      },
    ]);
    await say(listed(first));
    expect(await say(listed(first))).toEqual([
      "info: sandbox.changed: us/research sandbox b: idle -> absent (2 servers)",
    ]);
  });

  it("and its servers have a line each for the status that each of them states", async () => {
    const { poll, say } = start();
    await poll(listed(first));
    expect(await say(listed(box("first", "error", "error")))).toEqual([
      "info: sandbox.changed: us/research sandbox first: idle -> error (1 server)",
      "info: server.changed: us/research github (first-0): idle -> error",
    ]);
    expect(await say(listed(box("first", "error", "idle")))).toEqual([
      "info: server.changed: us/research github (first-0): error -> idle",
    ]);
    expect(await say(listed(box("first", null, "idle")))).toEqual([
      "info: sandbox.changed: us/research sandbox first: error -> unknown (1 server)",
    ]);
  });

  it("has no line for a status that its servers state, and they have none for one that it states", async () => {
    const { poll, say } = start();
    await poll(listed(box("a", null, "idle"), box("b", "idle", null)));
    expect(await say(listed(box("a", null, "error"), box("b", "error", null)))).toEqual([
      "info: sandbox.changed: us/research sandbox b: idle -> error (1 server)",
      "info: server.changed: us/research github (a-0): idle -> error",
    ]);
  });

  it("has these at the level debug, as those of a first listing", async () => {
    const { say } = start(judgeBy([]), "debug");
    const lines = await say(listed(box("a", null, "idle")));
    expect(lines).toEqual([
      "info: target.first_listing: us/research lists 1 server in 1 sandbox: 1 idle",
      "debug: sandbox.changed: us/research sandbox a: absent -> idle (1 server)",
      "debug: server.changed: us/research github (a-0): absent -> idle",
    ]);
    expect(await say(listed(box("a", null, "error")))).toEqual([
      "debug: sandbox.changed: us/research sandbox a: idle -> error (1 server)",
      "info: server.changed: us/research github (a-0): idle -> error",
    ]);
  });

  it("without servers is logged, also where no other is listed", async () => {
    const { say } = start();
    expect(await say(listed(box("a", "idle")))).toEqual([
      "info: target.first_listing: us/research lists 0 servers in 1 sandbox",
    ]);
    expect(await say(listed(box("a", "error")))).toEqual([
      "info: sandbox.changed: us/research sandbox a: idle -> error (0 servers)",
    ]);
  });
});

it("incidents of a server are one line a step", async () => {
  const rule = { ...serverError, for: { kind: "polls", polls: 2 }, remindEveryMs: 30_000 } as const;
  const { poll, say } = start(judgeBy([rule]));
  const steps: string[] = [];
  for (const status of ["idle", "error", "error", "error"] as const) {
    steps.push(...(await say(listing({ a: status }))).filter((line) => line.includes("incident.")));
  }
  expect(steps).toEqual([
    "info: incident.opened: server-error opened: us/research github (a) error",
    "warn: incident.fired: server-error fired: us/research github (a) error",
    "warn: incident.reminded: server-error reminded: us/research github (a) error",
  ]);
  expect((await poll(listing({ a: "idle" }))).at(-1)).toEqual({
    level: "info",
    event: "incident.resolved",
    ...research,
    ...server,
    incident_id: "incident-1",
    rule: "server-error",
    severity: "critical",
    status: "idle",
    reason: "recovered",
    msg: "server-error resolved: us/research github (a) idle",
  });
});

it("a target that goes down and comes up is one line each, not one a failed poll", async () => {
  const { poll, say } = start();
  await say(listing({}));
  expect(await poll("failed")).toEqual([
    {
      level: "warn",
      event: "target.lost",
      ...research,
      reason: "timeout",
      detail: "no complete response within 10 s",
      msg: "polls of us/research fail: no complete response within 10 s",
    },
  ]);
  expect([await say("failed"), await say("failed")]).toEqual([[], []]);
  const returned = "info: target.returned: polls of us/research succeed again";
  expect([await say(listing({})), await say(listing({}))]).toEqual([[returned], []]);
});
