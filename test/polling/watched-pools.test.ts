import { describe, expect, it } from "vitest";
import type { PoolRule } from "../../src/alerts/rule.ts";
import type { Target } from "../../src/fleet/model.ts";
import { batch, eu, poolRule, us, watchPools } from "./support/watch-pools.ts";

const firing = "firing github";
const resolved = "resolved github";

/**
 * Polls of `us`, each with the statuses of the servers named `github`, none for `-`, or the poll failed for `!`. A poll
 * of `batch` begins with `b:`. `a+b`: two polls end together. `R`: a restart. `[firing]`: what is notified by then.
 */
function play(story: string, rule: Partial<PoolRule>, targets?: readonly Target[]): string {
  const pools = watchPools([poolRule(rule)], targets);
  const played: string[] = [];
  for (const step of story.replaceAll(/\[\w+\]/g, "").split(" ")) {
    const before = pools.items.length;
    if (step === "R") pools.restart();
    else {
      const polls = step.split("+").map((poll) => {
        const servers = poll.replace("b:", "");
        const seen = servers === "!" ? null : servers === "-" ? {} : servers;
        return [poll === servers ? us : batch, seen] as const;
      });
      pools.together(...polls);
    }
    const notified = pools.items.slice(before).map(({ type }) => `[${type.slice(9)}]`);
    played.push(step + notified.join(""));
  }
  return played.join(" ");
}

describe("a pool", () => {
  it("is notified when it is beyond its limit, and when it no longer is", () => {
    const pools = watchPools([poolRule()]);
    for (const statuses of ["io", "ooi", "ooo", "oii"]) pools.see(statuses);
    expect(pools.summaries()).toEqual([
      "servers named github in us/research over 50% occupied (66.7%)",
      "Resolved: servers named github in us/research over 50% occupied (33.3%)",
    ]);
    expect(new Set(pools.items.map(({ incident }) => incident.id)).size).toBe(1);
  });

  it.each<[Partial<PoolRule>, string, string]>([
    [{ measure: "idle", side: "below", limit: 2 }, "oi", "with fewer than 2 idle (1)"],
    [{ measure: "error_ratio", limit: 0.2 }, "eii", "over 20% in error (33.3%)"],
    [{ measure: "servers", side: "below", limit: 3 }, "iu", "with fewer than 3 servers (2)"],
    [{ measure: "servers", limit: 1 }, "ii", "with more than 1 server (2)"],
    [{ side: "below" }, "iio", "under 50% occupied (33.3%)"],
    [{}, "uooo", "over 50% occupied (100%)"],
  ])("is measured by %j", (rule, statuses, condition) => {
    const pools = watchPools([poolRule(rule)]);
    pools.see(statuses);
    expect(pools.summaries()).toEqual([`servers named github in us/research ${condition}`]);
  });

  it("is one for each name, or of all names where the rule is not by it", () => {
    const byName = watchPools([poolRule()]);
    byName.see({ github: "oo", slack: "ii" });
    expect(byName.notified()).toEqual([firing]);
    const byKey = watchPools([poolRule({ by: ["region", "key"] })]);
    byKey.see({ github: "oo", slack: "ii" });
    byKey.see({ github: "oo", slack: "oi" });
    expect(byKey.summaries()).toEqual(["servers in us/research over 50% occupied (75%)"]);
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

  const idleBelow = { measure: "idle", side: "below", limit: 1 } as const;
  const empty = { measure: "servers", side: "below", limit: 1 } as const;
  const slow = { forMs: 20_000 };

  it.each<[what: string, rule: Partial<PoolRule>, story: string]>([
    ["is not beyond its limit at it", {}, "io"],
    ["is not below its limit at it", idleBelow, "io"],
    ["must be beyond it for a while", slow, "oo oo oo[firing]"],
    ["counts again when it was within it", slow, "oo oo ii oo oo"],
    ["does not open as unknown ones may be idle", {}, "ouu"],
    ["does not open as unknown ones may be occupied", { side: "below" }, "iuu"],
    ["does not open as unknown ones may be well", { measure: "error_ratio" }, "euuu"],
    ["does not open as unknown ones may be idle, too", { ...idleBelow, limit: 2 }, "iuu"],
    ["does not open though unknown ones may be idle", { measure: "idle", limit: 2 }, "uuu"],
    ["does not resolve as unknown ones may be occupied", {}, "oo[firing] uu uu oo"],
    ["resolves when they are not", {}, "oo[firing] uu ii[resolved]"],
    ["does not resolve as they may be busy", idleBelow, "oo[firing] uo oo"],
    ["does not age while that is unknown", slow, "oo uu uu uu oo oo[firing]"],
    ["goes on over a restart while that is unknown", {}, "oo[firing] uu R uu oo"],
    ["goes on over a restart", {}, "oo[firing] R oo ii[resolved]"],
    ["counts no time over a restart, but that before", slow, "oo oo R oo oo[firing]"],
    ["resolves without servers", {}, "oo[firing] R -[resolved]"],
    ["is empty for a while", { ...empty, ...slow }, "i - - -[firing] i[resolved]"],
    [
      "that is empty is reminded of, over a restart",
      { ...empty, remindEveryMs: 20_000 },
      "i -[firing] R - - -[reminder]",
    ],
    [
      "is not reminded of while its state is unknown",
      { remindEveryMs: 20_000 },
      "oo[firing] uu uu uu uu oo oo[reminder]",
    ],
  ])("%s", (_, rule, story) => {
    expect(play(story, rule)).toBe(story);
  });

  it.each<[what: string, story: string, rule?: Partial<PoolRule>]>([
    ["opens nothing before every target was observed", "oo oo b:-[firing]"],
    ["does not age while one is down", "b:i oo b:! oo oo oo oo b:i oo oo[firing]", slow],
    ["does not resolve while one is down", "b:i oo[firing] b:! ii b:i[resolved]"],
    [
      "does not age while its own state is unknown",
      "b:- oo b:- uu b:- uu b:- uu oo b:- oo[firing]",
      slow,
    ],
    ["is not empty where another target still has servers of it", "i b:i - -", empty],
    [
      "resolves after a restart, though its polls end together",
      "oo b:-[firing] R -+b:-[resolved] -",
    ],
    [
      "does not age by a failed poll of two that end together",
      "b:- oo oo+b:! b:- oo b:- oo",
      { forMs: 60_000 },
    ],
    [
      "ages by every poll, in whatever order",
      "b:- oo b:-+oo b:-+oo b:-+oo[firing]",
      { forMs: 60_000 },
    ],
  ])("of several targets %s", (_, story, rule) => {
    expect(play(story, { by: ["server_name"], ...rule }, [us, batch])).toBe(story);
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
    const ended = { type: "incident.resolved", incident: { resolvedReason: "rule_removed" } };
    expect(pools.items.slice(3)).toMatchObject([ended, ended]);
    expect(pools.items.slice(3)).toMatchObject([batch, eu].map((incident) => ({ incident })));
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
