import { describe, expect, it } from "vitest";
import { aggregateName, maxDistinctNames, noneByStatus } from "../../src/fleet/tallies.ts";
import { boxOf, server, snapshotOf, take } from "./support/listings.ts";

const broken = server("a", "error");

describe("tallies", () => {
  it("keep the name of a server that is gone, so that no series vanishes", () => {
    const { names } = snapshotOf(boxOf(broken), boxOf()).tallies;
    expect([...names.values()]).toEqual([
      { name: "github", servers: noneByStatus, listed: noneByStatus },
    ]);
  });

  it("are the same object where nothing is counted otherwise, and so is the tally of each name", () => {
    const git = server("b", "idle", { name: "git" });
    const before = snapshotOf(boxOf(broken, git));
    const tagged = take(before, boxOf({ ...broken, tags: ["prod"] }, git)).snapshot;
    expect(tagged.tallies).toBe(before.tallies);
    const { tallies } = take(before, boxOf(broken, { ...git, status: "error" })).snapshot;
    expect(tallies.names.get("github")).toBe(before.tallies.names.get("github"));
    expect(tallies.names.get("git")?.servers.error).toBe(1);
  });
});

describe("past the limit of distinct names", () => {
  const named = (names: number) =>
    boxOf(
      ...Array.from({ length: names }, (_, at) => server(`${at}`, "idle", { name: `name-${at}` })),
    );

  it("further names are counted as `other`, and leave it again", () => {
    const before = snapshotOf(named(maxDistinctNames + 3));
    expect(before.tallies.names.size).toBe(maxDistinctNames + 1);
    expect(before.tallies.names.get("other")?.servers.idle).toBe(3);
    const { snapshot } = take(before, named(maxDistinctNames + 2));
    expect(snapshot.tallies.names.get("other")?.servers.idle).toBe(2);
  });

  it("a name that was there before keeps its own, however many came since", () => {
    const { tallies } = snapshotOf(named(maxDistinctNames + 3));
    expect(aggregateName(tallies, "name-0")).toBe("name-0");
    expect(aggregateName(tallies, `name-${maxDistinctNames}`)).toBe("other");
    expect(aggregateName(tallies, null)).toBe("other");
  });
});
