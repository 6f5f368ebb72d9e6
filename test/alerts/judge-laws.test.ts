import { describe, expect, it } from "vitest";
import { judgeInSlices, judgePoll } from "../../src/alerts/judge.ts";
import { judgeBy, startMs } from "../support/fleet.ts";
import { readListing } from "../support/listing.ts";
import { createWatch, listingOf, serverRule, showing, stepsOf } from "./support/watch.ts";

describe("judging", () => {
  const at = { utcMs: startMs + 9e6, monotonicMs: 9e6 };
  const options = { ...judgeBy([serverRule()]), newIncidentId: () => "id" };
  const erring = (count: number) =>
    Array.from({ length: count }, (_, index) => showing("error", `server-${index}`));
  const listed = (count: number) =>
    ({ kind: "listed", listing: readListing(listingOf(erring(count))) }) as const;
  /** Of judging some servers in error after some others. */
  const pauses = (before: number, count: number): number => {
    const watch = createWatch();
    watch.see(...erring(before));
    return Array.from(judgeInSlices(watch.state, listed(count), at, options)).length;
  };

  it("gives the same verdict for the same, and does not change the state", () => {
    const { see, state } = createWatch();
    see(...erring(2));
    const before = structuredClone([state.incidents, state.snapshot.sandboxes]);
    const judge = () => judgePoll(state, listed(1), at, options);
    expect(judge()).toEqual(judge());
    expect([state.incidents, state.snapshot.sandboxes]).toEqual(before);
  });

  it("pauses again and again while thousands of incidents fire, go on or are unobserved", () => {
    // A few servers are judged without a pause: such polls may be committed together.
    expect([pauses(0, 20), pauses(20, 20)]).toEqual([0, 0]);
    for (const [before, count] of [
      [0, 2_000],
      [2_000, 2_000],
      [2_000, 0],
    ] as const) {
      expect(pauses(before, count)).toBeGreaterThan(12);
    }
  });

  it("walks a listing a few times, however many incidents its servers have", () => {
    let reads = 0;
    const servers = erring(2_000).map(({ id, ...rest }) => ({
      ...rest,
      get id() {
        reads += 1;
        return id;
      },
    }));
    const watch = createWatch();
    watch.see(...servers);
    reads = 0;
    expect(stepsOf(watch.see(...servers).incidents)).toEqual([]);
    expect(watch.state.incidents.size).toBe(2_000);
    expect(reads).toBeLessThan(20 * 2_000);
  });
});
