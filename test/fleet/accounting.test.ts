import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucketStart, resolutionMs, resolutions } from "../../src/fleet/buckets.ts";
import type { Resolution } from "../../src/fleet/buckets.ts";
import { serverMsOf } from "../../src/fleet/buckets.ts";
import { createRecorder, tally } from "../alerts/support/recorder.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

describe("a stretch", () => {
  it("of months that nobody watched takes few buckets", () => {
    const accounts = createRecorder();
    accounts.pass(0, []);
    const { written } = accounts.pass(200 * dayMs, [tally("git", { idle: 1 })], {
      observed: false,
    });
    expect(written.length).toBeLessThan(300);
    const recorded = accounts.whole("1d").map(({ recordedMs }) => recordedMs);
    expect(recorded.reduce((sum, each) => sum + each, 0)).toBe(200 * dayMs);
  });

  it("stays in the open bucket when the clock was set back, and nothing is lost", () => {
    const accounts = createRecorder();
    accounts.pass(0, []);
    accounts.pass(30_000, [tally("git", { idle: 1 })], { steppedMs: -hourMs });
    accounts.pass(30_000, [tally("git", { idle: 1 })]);
    expect(accounts.ofResolution("5m")).toMatchObject([{ recordedMs: 60_000 }]);
  });
});

describe("a bucket", () => {
  it("is written once more when it closes without having changed, as the clock was set forwards", () => {
    const accounts = createRecorder();
    accounts.pass(0, []);
    accounts.pass(30_000, [tally("git", { idle: 1 })]);
    const { written } = accounts.pass(30_000, [tally("git", { idle: 1 })], { steppedMs: hourMs });
    const closed = written.find(
      ({ resolution, bucket }) => resolution === "5m" && bucket.recordedMs === 30_000,
    );
    expect(closed?.bucket.startMs).toBe(bucketStart("5m", accounts.atMs - hourMs - 30_000));
  });

  it("knows that there were no servers of a name before the first and after the last", () => {
    const accounts = createRecorder();
    accounts.pass(0, []);
    accounts.pass(10_000, [tally("git", { idle: 1 })]);
    accounts.pass(10_000, [tally("jira", { idle: 1 })]);
    accounts.pass(hourMs, [tally("k8s", { idle: 1 })]);
    const least = accounts.whole("1d").flatMap(({ names }) => {
      return Array.from(names, ([name, { extent }]) => [name, extent?.least.idle]);
    });
    expect(least).toEqual([
      ["git", 0],
      ["jira", 0],
      ["k8s", 0],
    ]);
  });

  it("is closed by a poll at the very moment at which the next one begins", () => {
    const accounts = createRecorder();
    accounts.pass(0, []);
    const dwell = { serverName: "git", status: "occupied", ms: 90_000 } as const;
    accounts.pass(100_000, [tally("git", { occupied: 1 })], { dwells: [dwell] });
    const [first, second] = accounts.ofResolution("5m");
    expect([first?.recordedMs, second?.recordedMs]).toEqual([100_000, 0]);
    expect(second?.names.get("git")?.dwells.sumMs).toBe(90_000);
  });
});

const counts = fc.record({
  idle: fc.nat(3),
  occupied: fc.nat(3),
  error: fc.nat(1),
  unknown: fc.nat(1),
});
const stretches = fc.array(
  fc.record({
    elapsedMs: fc.oneof(
      fc.nat(90_000),
      fc.nat(3 * hourMs),
      fc.nat(3 * dayMs),
      fc.constantFrom(5 * minuteMs, 100_000, hourMs, dayMs),
    ),
    observed: fc.boolean(),
    restarts: fc.boolean(),
    git: fc.option(counts, { nil: null }),
    jira: fc.option(counts, { nil: null }),
    missing: fc.nat(2),
  }),
  { maxLength: 30 },
);

/** The milliseconds of a stretch within each bucket, the plain way. */
function spread(resolution: Resolution, fromMs: number, toMs: number): [number, number][] {
  const parts: [number, number][] = [];
  const size = resolutionMs[resolution];
  for (let at = bucketStart(resolution, fromMs); at < toMs; at += size) {
    const ms = Math.min(at + size, toMs) - Math.max(at, fromMs);
    if (ms > 0) parts.push([at, ms]);
  }
  return parts;
}

describe("whatever happens", () => {
  it.each(resolutions)("the buckets of %s hold what passed in them", (resolution) => {
    fc.assert(
      fc.property(stretches, (played) => {
        const accounts = createRecorder();
        const expected = new Map<
          number,
          { recordedMs: number; serverMs: number; idleMs: number }
        >();
        accounts.pass(0, []);
        for (const { elapsedMs, observed, restarts, git, jira, missing } of played) {
          if (restarts) accounts.restart();
          const tallies = [
            ...(git ? [tally("git", git, missing)] : []),
            ...(jira ? [tally("jira", jira)] : []),
          ];
          const fromMs = accounts.atMs;
          accounts.pass(elapsedMs, tallies, { observed });
          const servers = tallies.flatMap((each) => Object.values(each.servers));
          const idle = tallies.map(({ listed }) => listed.idle);
          for (const [at, ms] of spread(resolution, fromMs, accounts.atMs)) {
            const sum = expected.get(at) ?? { recordedMs: 0, serverMs: 0, idleMs: 0 };
            sum.recordedMs += ms;
            sum.serverMs += ms * servers.reduce((total, each) => total + each, 0);
            if (observed) sum.idleMs += ms * idle.reduce((total, each) => total + each, 0);
            expected.set(at, sum);
          }
        }
        const recorded = accounts.whole(resolution).map((bucket): [number, object] => {
          const ofNames = [...bucket.names.values()];
          return [
            bucket.startMs,
            {
              recordedMs: bucket.recordedMs,
              serverMs: ofNames.reduce((sum, account) => sum + serverMsOf(account), 0),
              idleMs: ofNames.reduce((sum, { ms }) => sum + ms.idle, 0),
            },
          ];
        });
        const held = recorded.filter(([at]) => expected.has(at));
        expect(held).toEqual([...expected].toSorted(([one], [other]) => one - other));
        // One may have just begun.
        expect(recorded.length - held.length).toBeLessThanOrEqual(1);
      }),
    );
  });
});
