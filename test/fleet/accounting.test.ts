import { describe, expect, it } from "vitest";
import { bucketStart } from "../../src/fleet/buckets.ts";
import { createRecorder, tally } from "../alerts/support/recorder.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe("a stretch", () => {
  it("of months that nobody watched takes few buckets", () => {
    const accounts = createRecorder();
    accounts.pass(0, []);
    const git = [tally("git", { idle: 1 })];
    const { written } = accounts.pass(200 * dayMs, git, { observed: false });
    expect(written.length).toBeLessThan(300);
    const whole = accounts.ofResolution("1d").filter(({ unobservedMs }) => unobservedMs === dayMs);
    expect(whole).toHaveLength(199);
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
    const least = accounts
      .ofResolution("1h")
      .slice(0, 1)
      .flatMap(({ names }) => {
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
