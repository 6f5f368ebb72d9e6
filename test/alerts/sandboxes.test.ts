import { describe, expect, it } from "vitest";
import type { SandboxRule, ServerRule } from "../../src/alerts/rule.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import type { Status } from "../../src/fleet/model.ts";
import { judgeBy, server, serverError, targetDown, wantAll, watchFleet } from "../support/fleet.ts";

const sandboxError: SandboxRule = { ...serverError, name: "sandbox-error", on: "sandbox" };

interface Options {
  readonly sandbox?: Partial<SandboxRule>;
  readonly server?: Partial<ServerRule>;
  readonly silenced?: boolean;
}

/** A sandbox with one server under one rule each. Each poll gives the receivers and types of what they are notified of. */
function watch({ sandbox = {}, server: more = {}, silenced = false }: Options = {}) {
  const down = { ...targetDown, keepFiringForMs: 60_000 };
  const rules = [{ ...serverError, ...more }, { ...sandboxError, ...sandbox }, down];
  const silence = {
    ...noSuppressions,
    silenced: [{ match: { sandbox_id: ["box"] }, by: "ann", endsAtMs: Infinity }],
  };
  const suppressions = silenced ? silence : noSuppressions;
  const judge = { ...judgeBy(rules), receivers: wantAll(["oncall", "chat"]), suppressions };
  const { poll, watched } = watchFleet(undefined, { judge });
  return {
    watched,
    silence: () => void (judge.suppressions = silence),
    fail: (times: number) => Array.from({ length: times }, () => poll("failed")),
    /** Without a status of the server, there is none. */
    poll: (stated: Status | null, ...servers: readonly Status[]): readonly string[] => {
      const { incidents } = poll({
        complete: true,
        sandboxes: [
          {
            id: "box",
            status: stated,
            benchmark: "MCP_Atlas",
            createdAt: null,
            servers: servers.map((status, index) => server(String(index), { status })),
          },
        ],
      });
      return incidents.outbox.map(
        ({ receiver, type, incident }) =>
          `${incident.subject} ${type.replace("incident.", "")}: ${receiver}`,
      );
    },
    open: () =>
      Array.from(
        watched.state.incidents.values(),
        ({ subject, phase, inhibitedBy }) =>
          `${subject.kind} ${phase.name}${inhibitedBy === null ? "" : " inhibited"}`,
      ),
  };
}

describe("the incident of a sandbox is inhibited by one of its server with the same status", () => {
  it("that begins to fire and resolves at the same polls", () => {
    const { poll, open } = watch();
    expect(poll("error", "error")).toEqual(["server firing: oncall"]);
    expect(open()).toEqual(["server firing", "sandbox firing inhibited"]);
    expect(poll("idle", "idle")).toEqual(["server resolved: oncall"]);
    expect(open()).toEqual([]);
  });

  it("until that resolves, at the same poll", () => {
    const { poll } = watch();
    poll("error", "error");
    expect(poll("error", "error")).toEqual([]);
    expect(poll("error", "idle")).toEqual(["server resolved: oncall", "sandbox firing: oncall"]);
    expect(poll("error", "idle")).toEqual([]);
  });

  it("also while that settles, but not while it is pending", () => {
    const settling = watch({ server: { keepFiringForMs: 60_000 } });
    settling.poll("error", "error");
    expect(settling.poll("error", "idle")).toEqual([]);
    const pending = watch({ server: { for: { kind: "polls", polls: 3 } } });
    expect(pending.poll("error", "error")).toEqual(["sandbox firing: oncall"]);
    expect(pending.open()).toEqual(["server pending", "sandbox firing"]);
  });

  it("also while that is silenced", () => {
    const { poll, open } = watch({ silenced: true });
    expect(poll("error", "error")).toEqual([]);
    expect(open()).toEqual(["server firing", "sandbox firing inhibited"]);
  });

  it("also by the one that goes on after a silence has ended both", () => {
    const { poll, silence, watched } = watch({ sandbox: { receivers: ["oncall", "chat"] } });
    poll("error", "error");
    silence();
    expect(poll("error", "error")).toEqual(["server resolved: oncall", "sandbox resolved: chat"]);
    const [ofServer, ofSandbox] = watched.state.incidents.values();
    expect(ofServer?.phase.name).toBe("firing");
    expect(ofSandbox?.inhibitedBy).toBe(ofServer?.id);
  });

  it("for the receivers of that alone", () => {
    const { poll, open } = watch({ sandbox: { receivers: ["oncall", "chat"] } });
    expect(poll("error", "error")).toEqual(["server firing: oncall", "sandbox firing: chat"]);
    expect(open()).toEqual(["server firing", "sandbox firing inhibited"]);
    expect(poll("error", "idle")).toEqual(["server resolved: oncall", "sandbox firing: oncall"]);
  });

  it("and not by one with another status, nor of a server that flaps and has another status", () => {
    const other = watch({ server: { status: "occupied" } });
    expect(other.poll("error", "occupied")).toEqual([
      "server firing: oncall",
      "sandbox firing: oncall",
    ]);
    const flap = { changes: 1, withinMs: 3_600_000 };
    const flapping = watch({ server: { flap } });
    flapping.poll("idle", "error");
    flapping.poll("idle", "idle");
    expect(flapping.poll("error", "error")).toEqual(["server firing: oncall"]);
    expect(flapping.poll("error", "idle")).toEqual(["sandbox firing: oncall"]);
  });

  it("and by its target that is down", () => {
    const { poll, fail, open } = watch();
    poll("idle", "idle");
    fail(3);
    expect(poll("error", "idle")).toEqual([]);
    expect(open()).toEqual(["target firing", "sandbox firing inhibited"]);
    poll("error", "idle");
    expect(poll("error", "idle")).toEqual(["target resolved: oncall", "sandbox firing: oncall"]);
  });
});

it("a sandbox that flaps is notified once as flapping", () => {
  const { poll } = watch({ sandbox: { flap: { changes: 1, withinMs: 3_600_000 } } });
  const sent = Array.from({ length: 6 }, (_, time) => poll(time % 2 === 0 ? "error" : "idle"));
  expect(sent.flat()).toEqual([
    "sandbox firing: oncall",
    "sandbox resolved: oncall",
    "sandbox firing: oncall",
  ]);
});

it("a sandbox is reminded of while it states the status", () => {
  const { poll } = watch({ sandbox: { remindEveryMs: 30_000 } });
  expect(poll("error")).toEqual(["sandbox firing: oncall"]);
  expect(poll("error")).toEqual(["sandbox reminder: oncall"]);
  expect(poll(null)).toEqual([]);
});

it.each<[match: SandboxRule["match"], holds: boolean]>([
  [{ benchmark: ["MCP*"] }, true],
  [{ benchmark: ["Tool*"] }, false],
  [{ serverName: ["github"] }, true],
  [{ serverName: ["slack"] }, false],
  [{ tag: ["prod"] }, false],
  [{ region: ["us"], key: ["research"] }, true],
  [{ region: ["eu"] }, false],
])("a rule with the match %j is about the sandbox: %s", (match, holds) => {
  const { poll } = watch({ sandbox: { match } });
  expect(poll("error", "idle")).toEqual(holds ? ["sandbox firing: oncall"] : []);
});

it("a rule by name applies once a sandbox has such a server, and no longer when it has none", () => {
  const { poll } = watch({ sandbox: { match: { serverName: ["github"] } } });
  expect(poll("error")).toEqual([]);
  expect(poll("error", "idle")).toEqual(["sandbox firing: oncall"]);
  expect(poll("error")).toEqual([]);
  expect(poll("error")).toEqual(["sandbox resolved: oncall"]);
});
