import { describe, expect, it } from "vitest";
import { poolRule, usBatch, usResearch, watchPools } from "./support/watch-pools.ts";

describe("a pool whose targets are polled together", () => {
  const rule = poolRule({ by: ["server_name"] });
  const targets = [usResearch, usBatch];

  it("resolves when no server of it is left after a restart", () => {
    const pools = watchPools([rule], targets);
    pools.see({ github: "oo" }, usResearch);
    pools.see({}, usBatch);
    expect(pools.told()).toEqual(["incident.firing github"]);
    pools.restart();
    pools.together([usResearch, {}], [usBatch, {}]);
    pools.see({}, usResearch);
    expect(pools.told()).toEqual(["incident.firing github", "incident.resolved github"]);
  });

  it("does not age while a part of it is out of sight", () => {
    const pools = watchPools([{ ...rule, forMs: 60_000 }], targets);
    pools.see({}, usBatch);
    pools.see({ github: "oo" }, usResearch);
    pools.together([usResearch, { github: "oo" }], [usBatch, null]);
    pools.wait(60_000);
    pools.see({}, usBatch);
    pools.see({ github: "oo" }, usResearch);
    expect(pools.told()).toEqual([]);
  });

  it("ages by every poll, in whatever order they are committed", () => {
    const pools = watchPools([{ ...rule, forMs: 60_000 }], targets);
    pools.see({}, usBatch);
    pools.see({ github: "oo" }, usResearch);
    for (let round = 0; round < 3; round += 1) {
      pools.together([usBatch, {}], [usResearch, { github: "oo" }]);
    }
    expect(pools.told()).toEqual(["incident.firing github"]);
  });

  it("does not age by what passed before a poll that was lost", () => {
    const pools = watchPools([{ ...rule, forMs: 20_000 }]);
    pools.see({ github: "oo" });
    pools.lose();
    pools.see({ github: "oo" });
    pools.see({ github: "oo" });
    expect(pools.told()).toEqual([]);
    pools.see({ github: "oo" });
    expect(pools.told()).toEqual(["incident.firing github"]);
  });
});
