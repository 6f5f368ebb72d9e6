import { describe, expect, it } from "vitest";
import type { PoolRule } from "../../src/alerts/rule.ts";
import { batch, eu, poolRule, us, watchPools } from "./support/watch-pools.ts";

const firing = "firing github";
const resolved = "resolved github";

/** Polls of one target, each with the statuses of the servers named `github`. `R`: a restart. */
function notifiedOf(rule: Partial<PoolRule>, polls: string): readonly string[] {
  const pools = watchPools([poolRule(rule)]);
  for (const poll of polls.split(" ")) {
    if (poll === "R") pools.restart();
    else pools.see(poll === "-" ? {} : poll);
  }
  return pools.notified();
}

describe("a pool", () => {
  it("is notified when it is beyond its limit, and when it no longer is", () => {
    const pools = watchPools([poolRule()]);
    for (const statuses of ["io", "ooi", "ooo", "oii"]) pools.see(statuses);
    expect(pools.summaries()).toEqual([
      "servers named github in us (research) over 50% occupied (66.7%)",
      "servers named github in us (research) no longer over 50% occupied (33.3%)",
    ]);
    expect(new Set(pools.items.map(({ incident }) => incident.id)).size).toBe(1);
  });

  it.each<[Partial<PoolRule>, string, string]>([
    [{ measure: "idle", side: "below", limit: 2 }, "oi", "with fewer than 2 idle (1)"],
    [{ measure: "error_ratio", limit: 0.2 }, "eii", "over 20% in error (33.3%)"],
    [{ measure: "servers", side: "below", limit: 3 }, "iu", "with fewer than 3 servers (2)"],
    [{ measure: "servers", limit: 1 }, "ii", "with more than 1 servers (2)"],
    [{ side: "below" }, "iio", "under 50% occupied (33.3%)"],
    [{}, "uooo", "over 50% occupied (100%)"],
  ])("is measured by %j", (rule, statuses, condition) => {
    const pools = watchPools([poolRule(rule)]);
    pools.see(statuses);
    expect(pools.summaries()).toEqual([`servers named github in us (research) ${condition}`]);
  });

  it("is one for each name, or of all names where the rule is not by it", () => {
    const byName = watchPools([poolRule()]);
    byName.see({ github: "oo", slack: "ii" });
    expect(byName.notified()).toEqual([firing]);
    const byKey = watchPools([poolRule({ by: ["region", "key"] })]);
    byKey.see({ github: "oo", slack: "ii" });
    byKey.see({ github: "oo", slack: "oi" });
    expect(byKey.summaries()).toEqual(["servers in us (research) over 50% occupied (75%)"]);
    const match = { serverName: ["git*"] };
    const matching = watchPools([poolRule({ by: ["region"], match })]);
    matching.see({ github: "oo", slack: "iiii" });
    expect(matching.notified()).toEqual(["firing all"]);
  });

  it("contains servers of every target that the rule is about, and of no other", () => {
    const rule = poolRule({ by: ["server_name"], match: { region: ["us"] } });
    const pools = watchPools([rule], [us, batch, eu]);
    pools.see("oo", us);
    pools.see("oo", eu);
    expect(pools.notified()).toEqual([]);
    pools.see("i", batch);
    expect(pools.summaries()).toEqual(["servers named github over 50% occupied (66.7%)"]);
    expect(pools.items[0]?.incident).toMatchObject({ subject: "pool", region: null, key: null });
  });

  const idleBelow = { measure: "idle", side: "below" } as const;
  it.each<[what: string, rule: Partial<PoolRule>, polls: string, notified: readonly string[]]>([
    ["is not beyond its limit at it", {}, "io", []],
    ["is not below its limit at it", { ...idleBelow, limit: 1 }, "io", []],
    ["must be beyond it for a while", { forMs: 20_000 }, "oo oo", []],
    ["is notified after that while", { forMs: 20_000 }, "oo oo oo", [firing]],
    ["counts again when it was within it", { forMs: 20_000 }, "oo oo ii oo oo", []],
    ["does not open as unknown ones may be idle", {}, "ouu", []],
    ["does not open as unknown ones may be occupied", { side: "below" }, "iuu", []],
    ["does not open as unknown ones may be well", { measure: "error_ratio" }, "euuu", []],
    ["does not open as unknown ones may be idle, too", { ...idleBelow, limit: 2 }, "iuu", []],
    ["does not open though unknown ones may be idle", { measure: "idle", limit: 2 }, "uuu", []],
    ["does not resolve as unknown ones may be occupied", {}, "oo uu uu oo", [firing]],
    ["resolves when they are not", {}, "oo uu ii", [firing, resolved]],
    ["does not resolve as they may be busy", { ...idleBelow, limit: 1 }, "oo uo oo", [firing]],
    ["does not age while that is unknown", { forMs: 20_000 }, "oo uu uu uu oo", []],
    ["ages again afterwards", { forMs: 20_000 }, "oo uu uu uu oo oo", [firing]],
    ["goes on over a restart while that is unknown", {}, "oo uu R uu oo", [firing]],
    ["goes on over a restart", {}, "oo R oo ii", [firing, resolved]],
    ["counts no time over a restart", { forMs: 20_000 }, "oo oo R oo", []],
    ["counts the time before a restart", { forMs: 20_000 }, "oo oo R oo oo", [firing]],
    ["resolves without servers", {}, "oo R -", [firing, resolved]],
    ["can be empty", { measure: "servers", side: "below", limit: 1 }, "i -", [firing]],
    [
      "is empty for a while",
      { measure: "servers", side: "below", limit: 1, forMs: 20_000 },
      "i - - - i",
      [firing, resolved],
    ],
    [
      "that is empty is reminded of, over a restart",
      { measure: "servers", side: "below", limit: 1, remindEveryMs: 20_000 },
      "i - R - - -",
      [firing, "reminder github"],
    ],
    [
      "is not reminded of while its state is unknown",
      { remindEveryMs: 20_000 },
      "oo uu uu uu uu oo oo",
      [firing, "reminder github"],
    ],
  ])("%s", (_, rule, polls, notified) => {
    expect(notifiedOf(rule, polls)).toEqual(notified);
  });
});

describe("a pool of several targets", () => {
  const rule = poolRule({ by: ["server_name"] });
  const slow = { ...rule, forMs: 20_000 };

  it("opens nothing before every target was observed", () => {
    const pools = watchPools([rule], [us, batch]);
    pools.see("oo", us);
    pools.see("oo", us);
    expect(pools.notified()).toEqual([]);
    pools.see({}, batch);
    expect(pools.notified()).toEqual([firing]);
  });

  it("neither ages nor resolves while one is down", () => {
    const pools = watchPools([slow], [us, batch]);
    pools.see("i", batch);
    pools.see("oo", us);
    pools.fail(batch);
    for (let poll = 0; poll < 5; poll += 1) pools.see("oo", us);
    pools.see("i", batch);
    pools.see("oo", us);
    expect(pools.notified()).toEqual([]);
    pools.see("oo", us);
    expect(pools.notified()).toEqual([firing]);

    pools.fail(batch);
    pools.see("ii", us);
    expect(pools.notified()).toEqual([firing]);
    pools.see("i", batch);
    expect(pools.notified()).toEqual([firing, resolved]);
  });

  it("does not age by polls of another target while its own state is unknown", () => {
    const pools = watchPools([slow], [us, batch]);
    pools.see({ slack: "i" }, batch);
    pools.see("oo", us);
    for (let poll = 0; poll < 5; poll += 1) {
      pools.see({ slack: "i" }, batch);
      pools.see("uu", us);
    }
    pools.see("oo", us);
    expect(pools.notified()).toEqual([]);
    pools.see({ slack: "i" }, batch);
    pools.see("oo", us);
    expect(pools.notified()).toEqual([firing]);
  });

  it("is not empty where another target still has servers of it", () => {
    const empty = { ...rule, measure: "servers", side: "below", limit: 1 } as const;
    const pools = watchPools([empty], [us, batch]);
    pools.see("i", us);
    pools.see("i", batch);
    pools.see({}, us);
    pools.see({}, us);
    expect(pools.notified()).toEqual([]);
  });

  it("resolves when no server is left after a restart, though its polls end together", () => {
    const pools = watchPools([rule], [us, batch]);
    pools.see("oo", us);
    pools.see({}, batch);
    pools.restart();
    pools.together([us, {}], [batch, {}]);
    pools.see({}, us);
    expect(pools.notified()).toEqual([firing, resolved]);
  });

  it("does not age while a part of it is not observed, though its polls end together", () => {
    const pools = watchPools([{ ...rule, forMs: 60_000 }], [us, batch]);
    pools.see({}, batch);
    pools.see("oo", us);
    pools.together([us, "oo"], [batch, null]);
    pools.wait(60_000);
    pools.see({}, batch);
    pools.see("oo", us);
    expect(pools.notified()).toEqual([]);
  });

  it("ages by every poll, in whatever order they are committed", () => {
    const pools = watchPools([{ ...rule, forMs: 60_000 }], [us, batch]);
    pools.see({}, batch);
    pools.see("oo", us);
    for (let round = 0; round < 3; round += 1) pools.together([batch, {}], [us, "oo"]);
    expect(pools.notified()).toEqual([firing]);
  });
});

it("a partial listing does not judge a pool, and a lost poll does not age it", () => {
  const pools = watchPools([poolRule({ forMs: 20_000 })]);
  pools.seePart("oo");
  pools.see("oo");
  pools.lose();
  pools.see("oo");
  pools.see("oo");
  expect(pools.notified()).toEqual([]);
  pools.see("oo");
  expect(pools.notified()).toEqual([firing]);
});

describe("after a restart an incident", () => {
  it("ends if its rule has another limit", () => {
    const pools = watchPools([poolRule()]);
    pools.see("oo");
    pools.restart([poolRule({ limit: 0.6 })]);
    expect(pools.items.at(-1)?.incident.resolvedReason).toBe("rule_removed");
    pools.see("oo");
    expect(pools.notified()).toEqual([firing, resolved, firing]);
  });

  it("ends if none of its targets is configured any more", () => {
    const pools = watchPools([poolRule()], [us, batch, eu]);
    for (const target of [us, batch, eu]) pools.see("oo", target);
    pools.restart([poolRule()], [us]);
    expect(pools.items.slice(3).map(({ type, incident }) => ({ type, ...incident }))).toMatchObject(
      [
        { type: "incident.resolved", region: "us", key: "batch", resolvedReason: "rule_removed" },
        {
          type: "incident.resolved",
          region: "eu",
          key: "research",
          resolvedReason: "rule_removed",
        },
      ],
    );
    pools.restart([poolRule()], [us]);
    expect(pools.items).toHaveLength(5);
  });

  it("goes on if one of its targets is configured", () => {
    const rule = poolRule({ by: ["server_name"] });
    const pools = watchPools([rule], [us, batch]);
    for (const target of [us, batch]) pools.see("oo", target);
    pools.restart([rule], [us]);
    expect(pools.notified()).toEqual([firing]);
  });
});
