import { describe, expect, it } from "vitest";
import { inPolls, lasting, listedServer, serverRule, targetRule } from "./support/samples.ts";
import { stepsOf } from "./support/steps.ts";
import { createWatch, intervalMs, startUtcMs } from "./support/watch.ts";
import type { Watch } from "./support/watch.ts";

const idle = listedServer("a", "idle");
const broken = listedServer("a", "error");

function failTimes(watch: Watch, times: number): readonly string[] {
  return Array.from({ length: times }, () => watch.fail()).flatMap((v) => stepsOf(v.incidents));
}

describe("while a target is blind", () => {
  it("nothing changes that was seen, and no incident is written", () => {
    const watch = createWatch();
    watch.see(broken);
    const before = [...watch.state.incidents.values()];
    const { snapshot } = watch.state;
    const verdict = watch.fail();
    const { diff, incidents } = verdict;
    expect(verdict.snapshot).toBe(snapshot);
    expect(diff.servers).toEqual([]);
    expect(incidents).toEqual({ written: [], dropped: [], flaps: [], steps: [], outbox: [] });
    expect([...watch.state.incidents.values()]).toEqual(before);
  });

  it("no incident opens by the wall clock, nor right after it", () => {
    const rule = serverRule({ for: lasting(2 * intervalMs) });
    const watch = createWatch({ rules: [rule] });
    watch.see(broken);
    watch.wait(86_400_000);
    expect(failTimes(watch, 5)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a"]);
  });

  it("failed polls are none of the polls that a condition must hold for", () => {
    const watch = createWatch({ rules: [serverRule({ for: inPolls(3) })] });
    watch.see(broken);
    expect(failTimes(watch, 5)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a"]);
  });

  it("no incident resolves by the wall clock", () => {
    const watch = createWatch({ rules: [serverRule({ keepFiringForMs: 2 * intervalMs })] });
    watch.see(broken);
    watch.see(idle);
    watch.wait(86_400_000);
    expect(failTimes(watch, 5)).toEqual([]);
    expect(stepsOf(watch.see(idle).incidents)).toEqual([]);
    expect(stepsOf(watch.see(idle).incidents)).toEqual([]);
    expect(stepsOf(watch.see(idle).incidents)).toEqual(["resolved server-error a (recovered)"]);
  });

  it("no incident is reminded of", () => {
    const watch = createWatch({ rules: [serverRule({ remindEveryMs: 2 * intervalMs })] });
    watch.see(broken);
    watch.wait(86_400_000);
    expect(failTimes(watch, 5)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["reminded server-error a"]);
  });

  it("sandwatch being away counts like blindness", () => {
    const rule = serverRule({ for: lasting(2 * intervalMs) });
    const watch = createWatch({ rules: [rule] });
    watch.see(broken);
    watch.wait(86_400_000);
    watch.restart();
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a"]);
  });

  it("a server that recovered or vanished meanwhile is judged by the first listing after it", () => {
    const watch = createWatch({ goneAfter: 1 });
    watch.see(broken, listedServer("b", "error"));
    failTimes(watch, 2);
    expect(stepsOf(watch.see(idle).incidents)).toEqual([
      "resolved server-error a (recovered)",
      "resolved server-error b (gone)",
    ]);
  });
});

describe("a server that a partial listing lacks", () => {
  it("neither ages, nor resolves, nor is reminded of", () => {
    const rules = [
      serverRule({ name: "slow", for: lasting(2 * intervalMs) }),
      serverRule({ name: "remind", remindEveryMs: 2 * intervalMs }),
    ];
    const watch = createWatch({ rules });
    watch.see(broken);
    for (let poll = 0; poll < 5; poll += 1) expect(stepsOf(watch.seePart().incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired slow a", "reminded remind a"]);
  });
});

describe("a target that cannot be seen", () => {
  const blind = { rules: [targetRule()] };

  it("fires after three failed polls in a row and resolves at the first success", () => {
    const watch = createWatch(blind);
    watch.see();
    const failures = [watch.fail(), watch.fail("network"), watch.fail("auth")];
    expect(failures.map(({ incidents }) => stepsOf(incidents))).toEqual([
      ["opened target-down"],
      [],
      ["fired target-down"],
    ]);
    expect(failures[2]?.incidents.outbox).toMatchObject([
      {
        condition: "down (auth)",
        severity: "warning",
        incident: {
          subject: "target",
          sandboxId: null,
          serverId: null,
          serverName: null,
          status: null,
          previousStatus: null,
          startedAtMs: startUtcMs + 2 * intervalMs,
        },
      },
    ]);
    const back = watch.see().incidents;
    expect(stepsOf(back)).toEqual(["resolved target-down (recovered)"]);
    expect(back.outbox).toMatchObject([
      { condition: "down", incident: { status: null, previousStatus: null } },
    ]);
  });

  it("is one whose failures are in a row: a success in between starts the count anew", () => {
    const watch = createWatch(blind);
    failTimes(watch, 2);
    expect(stepsOf(watch.see().incidents)).toEqual(["dropped target-down"]);
    expect(failTimes(watch, 2)).toEqual(["opened target-down"]);
    expect(failTimes(watch, 1)).toEqual(["fired target-down"]);
  });

  it("is seen again by a partial listing: the target answers", () => {
    const watch = createWatch(blind);
    failTimes(watch, 3);
    expect(stepsOf(watch.seePart().incidents)).toEqual(["resolved target-down (recovered)"]);
  });

  it("fires once, also when sandwatch restarts in the middle", () => {
    const watch = createWatch(blind);
    failTimes(watch, 2);
    watch.restart();
    expect(failTimes(watch, 1)).toEqual(["fired target-down"]);
    watch.restart();
    expect(failTimes(watch, 4)).toEqual([]);
  });

  it("by a duration fires when it failed for so long since the first failure", () => {
    const watch = createWatch({ rules: [targetRule({ for: lasting(2 * intervalMs) })] });
    watch.see();
    expect(failTimes(watch, 2)).toEqual(["opened target-down"]);
    expect(failTimes(watch, 1)).toEqual(["fired target-down"]);
  });

  it("is reminded of while it lasts: its own clock runs on", () => {
    const watch = createWatch({ rules: [targetRule({ remindEveryMs: 2 * intervalMs })] });
    expect(failTimes(watch, 4)).toEqual(["opened target-down", "fired target-down"]);
    expect(failTimes(watch, 2)).toEqual(["reminded target-down"]);
  });

  it("is reported lost once and returned once, and lost anew by a process that starts blind", () => {
    const watch = createWatch();
    expect(watch.see().reachability).toBeNull();
    expect([watch.fail().reachability, watch.fail().reachability]).toEqual(["lost", null]);
    watch.restart();
    expect([
      watch.fail().reachability,
      watch.fail().reachability,
      watch.see().reachability,
    ]).toEqual(["lost", null, "returned"]);
  });
});

describe("a key that the service refuses", () => {
  const refused = targetRule({ name: "key-refused", trouble: "auth", for: inPolls(2) });

  it("fires by its own rule, in words of its own, and resolves when it is accepted", () => {
    const watch = createWatch({ rules: [refused] });
    expect(stepsOf(watch.fail("auth").incidents)).toEqual(["opened key-refused"]);
    const fired = watch.fail("auth").incidents;
    expect(stepsOf(fired)).toEqual(["fired key-refused"]);
    expect(fired.outbox).toMatchObject([
      { condition: "refused by the service", incident: { subject: "target" } },
    ]);
    expect(stepsOf(watch.seePart().incidents)).toEqual(["resolved key-refused (recovered)"]);
  });

  it("is not one whose polls fail for another reason", () => {
    const watch = createWatch({ rules: [refused] });
    expect(failTimes(watch, 9)).toEqual([]);
    expect(watch.state.incidents.size).toBe(0);
  });

  it("neither recovers nor counts on while another failure hides it", () => {
    const watch = createWatch({ rules: [{ ...refused, for: inPolls(3) }] });
    const polls = (["auth", "timeout", "network", "auth", "server_error", "auth"] as const).map(
      (reason) => stepsOf(watch.fail(reason).incidents).join(),
    );
    expect(polls).toEqual(["opened key-refused", "", "", "", "", "fired key-refused"]);
    expect(failTimes(watch, 9)).toEqual([]);
    expect(stepsOf(watch.see().incidents)).toEqual(["resolved key-refused (recovered)"]);
  });

  it("for a duration counts only the time in which it was seen to be refused", () => {
    const rule = { ...refused, for: lasting(2 * intervalMs) };
    const watch = createWatch({ rules: [rule] });
    watch.fail("auth");
    failTimes(watch, 5);
    expect(stepsOf(watch.fail("auth").incidents)).toEqual([]);
    expect(stepsOf(watch.fail("auth").incidents)).toEqual(["fired key-refused"]);
  });
});
