import { describe, expect, it } from "vitest";
import { openCluster, units } from "./support/open-cluster.ts";

describe("a replica that cannot begin the work for some units", () => {
  it("works for all others, and says so until it has begun", async () => {
    const { open, pass, database } = openCluster();
    const one = open("one");
    const inner = { ...one.work };
    let problem: Error | null = new Error("permission denied");
    one.work.gain = async (gained) => {
      if (problem && gained.includes("key:4")) throw problem;
      await inner.gain(gained);
    };
    await one.start();
    await pass(5_000);
    expect(one.working).toEqual(new Set(units.filter((unit) => unit !== "key:4")));
    expect(one.ownership.unbegun()).toEqual({ units: 1, error: problem });
    problem = new Error("disk full");
    await pass(3_000);
    expect(one.ownership.unbegun()).toEqual({ units: 1, error: problem });
    problem = null;
    await pass(1_000);
    expect(one.working).toEqual(new Set(units));
    expect(one.ownership.unbegun()).toBeNull();
    expect(one.events()).toEqual([
      "joined",
      "claimed",
      "work_failed",
      "work_failed",
      "work_recovered",
    ]);
    expect(database.owned()).toEqual({ one: units.toSorted() });
  });

  it("counts all of them, and logs their cause once, until the lease is lost", async () => {
    const { open, pass } = openCluster();
    const one = open("one");
    const problem = new Error("permission denied");
    one.work.gain = () => Promise.reject(problem);
    await one.start();
    await pass(3_000);
    expect(one.ownership.unbegun()).toEqual({ units: units.length, error: problem });
    expect(one.events()).toEqual(["joined", "claimed", "work_failed"]);
    one.ownership.fenced();
    expect(one.ownership.unbegun()).toBeNull();
  });
});
