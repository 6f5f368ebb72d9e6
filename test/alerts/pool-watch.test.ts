import { describe, expect, it } from "vitest";
import { euResearch, poolRule, usBatch, usResearch, watchPools } from "./support/watch-pools.ts";

describe("a pool", () => {
  it("is told when its ratio goes over the limit, and when it no longer is", () => {
    const pools = watchPools([poolRule()]);
    pools.see({ github: "io" });
    expect(pools.told()).toEqual([]);
    pools.see({ github: "ooi" });
    pools.see({ github: "ooo" });
    pools.see({ github: "oii" });
    expect(pools.summaries()).toEqual([
      "servers named github in us (research) over 50% occupied (66.7%)",
      "servers named github in us (research) no longer over 50% occupied (33.3%)",
    ]);
    expect(new Set(pools.items.map(({ incident }) => incident.id)).size).toBe(1);
  });

  it("is exactly at its limit not beyond it", () => {
    const above = watchPools([poolRule({ limit: 0.5 })]);
    above.see({ github: "io" });
    const below = watchPools([poolRule({ measure: "idle", side: "below", limit: 1 })]);
    below.see({ github: "io" });
    expect([...above.told(), ...below.told()]).toEqual([]);
  });

  it("is one for each name, or of all names where the rule is not by it", () => {
    const byName = watchPools([poolRule()]);
    byName.see({ github: "oo", slack: "ii" });
    expect(byName.told()).toEqual(["incident.firing github"]);

    const byKey = watchPools([poolRule({ by: ["region", "key"] })]);
    byKey.see({ github: "oo", slack: "ii" });
    expect(byKey.told()).toEqual([]);
    byKey.see({ github: "oo", slack: "oi" });
    expect(byKey.summaries()).toEqual(["servers in us (research) over 50% occupied (75%)"]);
  });

  it("draws on every target that it is about, and on no other", () => {
    const rule = poolRule({ by: ["server_name"], match: { region: ["us"] } });
    const pools = watchPools([rule], [usResearch, usBatch, euResearch]);
    pools.see({ github: "oo" }, usResearch);
    pools.see({ github: "oo" }, euResearch);
    expect(pools.told()).toEqual([]);
    pools.see({ github: "i" }, usBatch);
    expect(pools.summaries()).toEqual(["servers named github over 50% occupied (66.7%)"]);
    expect(pools.items[0]?.incident).toMatchObject({ subject: "pool", region: null, key: null });
  });

  it("counts only the servers whose names match", () => {
    const rule = poolRule({ by: ["region"], match: { serverName: ["git*"] } });
    const pools = watchPools([rule]);
    pools.see({ github: "oo", slack: "iiii" });
    expect(pools.told()).toEqual(["incident.firing all"]);
  });

  it("is measured by the servers whose status is known", () => {
    const pools = watchPools([poolRule()]);
    pools.see({ github: "uooo" });
    pools.see({ github: "uiii" });
    expect(pools.summaries()).toEqual([
      "servers named github in us (research) over 50% occupied (100%)",
      "servers named github in us (research) no longer over 50% occupied (0%)",
    ]);
  });

  it.each([
    [{ measure: "idle", side: "below", limit: 2 }, "oi", "with fewer than 2 idle (1)"],
    [{ measure: "error_ratio", side: "above", limit: 0.2 }, "eii", "over 20% in error (33.3%)"],
    [{ measure: "servers", side: "below", limit: 3 }, "iu", "with fewer than 3 servers (2)"],
    [{ measure: "servers", side: "above", limit: 1 }, "ii", "with more than 1 servers (2)"],
    [{ measure: "occupied_ratio", side: "below", limit: 0.5 }, "iio", "under 50% occupied (33.3%)"],
  ] as const)("can be measured by %o", (rule, statuses, condition) => {
    const pools = watchPools([poolRule(rule)]);
    pools.see({ github: statuses });
    expect(pools.summaries()).toEqual([`servers named github in us (research) ${condition}`]);
  });

  it("must be beyond its limit for as long as the rule says", () => {
    const pools = watchPools([poolRule({ forMs: 20_000 })]);
    pools.see({ github: "oo" });
    pools.see({ github: "oo" });
    expect(pools.told()).toEqual([]);
    pools.see({ github: "oo" });
    expect(pools.told()).toEqual(["incident.firing github"]);
  });

  it("starts anew when it was within its limit in between", () => {
    const pools = watchPools([poolRule({ forMs: 20_000 })]);
    for (const statuses of ["oo", "oo", "ii", "oo", "oo"]) pools.see({ github: statuses });
    expect(pools.told()).toEqual([]);
  });
});

describe("while servers of unknown status decide whether a pool is beyond its limit, its incident", () => {
  it.each([
    [{ measure: "occupied_ratio", side: "above", limit: 0.5 }, "ouu"],
    [{ measure: "occupied_ratio", side: "below", limit: 0.5 }, "iuu"],
    [{ measure: "error_ratio", side: "above", limit: 0.5 }, "euuu"],
    [{ measure: "idle", side: "below", limit: 2 }, "iuu"],
    [{ measure: "idle", side: "above", limit: 2 }, "uuu"],
  ] as const)("does not open by %o", (rule, statuses) => {
    const pools = watchPools([poolRule(rule)]);
    pools.see({ github: statuses });
    expect(pools.told()).toEqual([]);
  });

  it.each([
    [{ measure: "error_ratio", side: "above", limit: 0.2 }, "eei", "uui", "iii"],
    [{ measure: "occupied_ratio", side: "above", limit: 0.5 }, "oo", "uu", "ii"],
    [{ measure: "idle", side: "below", limit: 1 }, "oo", "uo", "io"],
  ] as const)("does not resolve by %o", (rule, beyond, unstated, within) => {
    const pools = watchPools([poolRule(rule)]);
    for (const statuses of [beyond, unstated, unstated, beyond]) pools.see({ github: statuses });
    expect(pools.told()).toEqual(["incident.firing github"]);
    pools.see({ github: within });
    expect(pools.told()).toEqual(["incident.firing github", "incident.resolved github"]);
  });

  it("neither ages nor is reminded of", () => {
    const rules = [
      poolRule({ name: "slow", forMs: 20_000 }),
      poolRule({ name: "remind", remindEveryMs: 20_000 }),
    ];
    const pools = watchPools(rules);
    pools.see({ github: "oo" });
    for (let poll = 0; poll < 5; poll += 1) pools.see({ github: "uu" });
    pools.see({ github: "oo" });
    expect(pools.items.map(({ rule, type }) => `${type} ${rule}`)).toEqual([
      "incident.firing remind",
    ]);
    pools.see({ github: "oo" });
    expect(pools.items.map(({ rule, type }) => `${type} ${rule}`)).toEqual([
      "incident.firing remind",
      "incident.firing slow",
      "incident.reminder remind",
    ]);
  });

  it("does not age by polls of another target either", () => {
    const rule = poolRule({ by: ["server_name"], forMs: 20_000 });
    const pools = watchPools([rule], [usResearch, usBatch]);
    pools.see({ slack: "i" }, usBatch);
    pools.see({ github: "oo" }, usResearch);
    for (let poll = 0; poll < 5; poll += 1) {
      pools.see({ slack: "i" }, usBatch);
      pools.see({ github: "uu" }, usResearch);
    }
    pools.see({ github: "oo" }, usResearch);
    expect(pools.told()).toEqual([]);
    pools.see({ slack: "i" }, usBatch);
    pools.see({ github: "oo" }, usResearch);
    expect(pools.told()).toEqual(["incident.firing github"]);
  });

  it("goes on after a restart", () => {
    const pools = watchPools([poolRule()]);
    pools.see({ github: "oo" });
    pools.see({ github: "uu" });
    pools.restart();
    pools.see({ github: "uu" });
    pools.see({ github: "oo" });
    expect(pools.told()).toEqual(["incident.firing github"]);
  });
});

describe("a pool that loses its last server", () => {
  const rule = poolRule({ measure: "servers", side: "below", limit: 1, forMs: 20_000 });

  it("is told once it was empty for as long as the rule says", () => {
    const pools = watchPools([rule]);
    pools.see({ github: "i", slack: "i" });
    for (let poll = 0; poll < 2; poll += 1) pools.see({ slack: "i" });
    expect(pools.told()).toEqual([]);
    for (let poll = 0; poll < 3; poll += 1) pools.see({ slack: "i" });
    expect(pools.told()).toEqual(["incident.firing github"]);
    pools.see({ github: "i", slack: "i" });
    expect(pools.told()).toEqual(["incident.firing github", "incident.resolved github"]);
  });

  it("is reminded of, and goes on after a restart", () => {
    const pools = watchPools([{ ...rule, remindEveryMs: 20_000 }]);
    pools.see({ github: "i" });
    for (let poll = 0; poll < 4; poll += 1) pools.see({});
    pools.restart();
    for (let poll = 0; poll < 2; poll += 1) pools.see({});
    expect(pools.told()).toEqual(["incident.firing github", "incident.reminder github"]);
  });

  it("is not taken for empty where another target still has servers of it", () => {
    const pools = watchPools([{ ...rule, by: ["server_name"], forMs: 0 }], [usResearch, usBatch]);
    pools.see({ github: "i" }, usResearch);
    pools.see({ github: "i" }, usBatch);
    pools.see({}, usResearch);
    pools.see({}, usResearch);
    expect(pools.told()).toEqual([]);
  });
});

describe("a pool of which a part cannot be seen", () => {
  const rule = poolRule({ by: ["server_name"], forMs: 20_000 });

  it("opens nothing before every target was seen once", () => {
    const pools = watchPools([poolRule({ by: ["server_name"] })], [usResearch, usBatch]);
    pools.see({ github: "oo" }, usResearch);
    pools.see({ github: "oo" }, usResearch);
    expect(pools.told()).toEqual([]);
    pools.see({}, usBatch);
    expect(pools.told()).toEqual(["incident.firing github"]);
  });

  it("resolves nothing and does not age until it is seen again", () => {
    const pools = watchPools([rule], [usResearch, usBatch]);
    pools.see({ github: "i" }, usBatch);
    pools.see({ github: "oo" }, usResearch);
    pools.fail(usBatch);
    for (let poll = 0; poll < 5; poll += 1) pools.see({ github: "oo" }, usResearch);
    expect(pools.told()).toEqual([]);
    pools.see({ github: "i" }, usBatch);
    pools.see({ github: "oo" }, usResearch);
    expect(pools.told()).toEqual([]);
    pools.see({ github: "oo" }, usResearch);
    expect(pools.told()).toEqual(["incident.firing github"]);

    pools.fail(usBatch);
    pools.see({ github: "ii" }, usResearch);
    expect(pools.told()).toEqual(["incident.firing github"]);
    pools.see({ github: "i" }, usBatch);
    expect(pools.told()).toEqual(["incident.firing github", "incident.resolved github"]);
  });

  it("is not judged by a partial listing", () => {
    const pools = watchPools([poolRule()]);
    pools.seePart({ github: "oo" });
    expect(pools.told()).toEqual([]);
    pools.see({ github: "oo" });
    expect(pools.told()).toEqual(["incident.firing github"]);
  });
});

describe("a pool after a restart", () => {
  it("goes on with its incident: it is not told again, and resolves as itself", () => {
    const pools = watchPools([poolRule()]);
    pools.see({ github: "oo" });
    pools.restart();
    pools.see({ github: "oo" });
    pools.see({ github: "ii" });
    expect(pools.told()).toEqual(["incident.firing github", "incident.resolved github"]);
    expect(new Set(pools.items.map(({ incident }) => incident.id)).size).toBe(1);
  });

  it("goes on with how long it was beyond its limit, without the time in between", () => {
    const pools = watchPools([poolRule({ forMs: 20_000 })]);
    pools.see({ github: "oo" });
    pools.see({ github: "oo" });
    pools.restart();
    pools.see({ github: "oo" });
    expect(pools.told()).toEqual([]);
    pools.see({ github: "oo" });
    expect(pools.told()).toEqual(["incident.firing github"]);
  });

  it("resolves when no server of it is left", () => {
    const pools = watchPools([poolRule()]);
    pools.see({ github: "oo" });
    pools.restart();
    pools.see({ slack: "i" });
    expect(pools.told()).toEqual(["incident.firing github", "incident.resolved github"]);
  });

  it("ends with the reason rule_removed when the rule's limit was changed", () => {
    const pools = watchPools([poolRule()]);
    pools.see({ github: "oo" });
    pools.restart([poolRule({ limit: 0.6 })]);
    expect(pools.items.at(-1)?.incident.resolvedReason).toBe("rule_removed");
    pools.see({ github: "oo" });
    expect(pools.told()).toEqual([
      "incident.firing github",
      "incident.resolved github",
      "incident.firing github",
    ]);
  });

  it("ends with the reason rule_removed when no configured target feeds it any more", () => {
    const pools = watchPools([poolRule()], [usResearch, usBatch, euResearch]);
    for (const target of [usResearch, usBatch, euResearch]) pools.see({ github: "oo" }, target);
    expect(pools.told()).toHaveLength(3);
    pools.restart([poolRule()], [usResearch]);
    const ended = pools.items.slice(3).map(({ type, incident }) => ({ type, ...incident }));
    expect(ended).toMatchObject([
      { type: "incident.resolved", region: "us", key: "batch", resolvedReason: "rule_removed" },
      { type: "incident.resolved", region: "eu", key: "research", resolvedReason: "rule_removed" },
    ]);
    pools.restart([poolRule()], [usResearch]);
    pools.see({ github: "oo" });
    expect(pools.items).toHaveLength(5);
  });

  it("goes on while one of the targets that feed it is configured", () => {
    const rule = poolRule({ by: ["server_name"] });
    const pools = watchPools([rule], [usResearch, usBatch]);
    for (const target of [usResearch, usBatch]) pools.see({ github: "oo" }, target);
    pools.restart([rule], [usResearch]);
    expect(pools.told()).toEqual(["incident.firing github"]);
  });

  it("keeps its incident when only receivers, severity or texts of the rule were changed", () => {
    const pools = watchPools([poolRule()]);
    pools.see({ github: "oo" });
    pools.restart([poolRule({ severity: "critical", summaryTemplate: "full", remindEveryMs: 5 })]);
    expect(pools.told()).toEqual(["incident.firing github"]);
  });
});
