import { sql } from "kysely";
import { expect, it } from "vitest";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { createRetryBudget, retryShare } from "../../src/lib/retry.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createCommitLoop } from "../../src/polling/commit-loop.ts";
import { KeyLimits } from "../../src/polling/key-limits.ts";
import { createTargetUnits, type Listed } from "../../src/polling/poll.ts";
import { Runner } from "../../src/polling/runner.ts";
import { createStore } from "../../src/store/store.ts";
import { addTarget } from "../support/add-target.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, startMs, watchFleet } from "../support/fleet.ts";
import { openFresh } from "../support/fresh-store.ts";
import { readListing } from "../support/listing.ts";

const noneUnkept = { count: 0, first: [] };

/** Targets whose servers are in error. Their polls end together, and so are committed together. */
async function pollTogether(keys: readonly string[]) {
  const { kysely, close } = openFresh();
  const store = createStore(kysely, close);
  const clock = createFakeClock(startMs);
  const { log, lines } = captureLog();
  const targets = keys.map((key) => ({ region: "us", key }));
  const added = await Promise.all(targets.map((target) => addTarget(store, target)));
  const watched = added.map(({ id, target }) => watchFleet(target, { id }).watched);
  const ids: string[] = [];
  const world = { listing: listing({ a: "error" }) };
  const listed = () => {
    const value = { listing: readListing(world.listing), partial: null, unkept: noneUnkept };
    return { kind: "ok", value, status: 200, deviations: [] } as const;
  };
  const units = createTargetUnits(watched, {
    apiKeys: new Map(keys.map((key) => [key, new Secret("T0PSECRET")])),
    schedule: { kind: "every", ms: 30_000 },
    service: { listSandboxes: async () => listed() },
    recordDrift() {},
    judge: { ...judgeBy(), newIncidentId: () => ids.shift() ?? crypto.randomUUID() },
    suppressions: { at: () => noSuppressions },
    regions: { wake() {} },
    pools: { isPooled: () => false, judge: async () => {}, lose() {} },
    store,
    commits: createCommitLoop(log),
    metrics: { polled() {}, committed() {}, lost() {} },
    log,
    clock,
  });
  const runner = new Runner<Listed>(
    {
      loop: "polls",
      limits: new KeyLimits(clock, { requests: 1_000, perMs: 1_000 }),
      budget: createRetryBudget(retryShare),
      random: () => 0.5,
      runs: new Map(),
      ticking: { clock, log },
      clock,
    },
    units,
  );
  return {
    kysely,
    clock,
    world,
    lines,
    /** The ids that incidents get, while there are any. */
    ids,
    poll: () => runner.runOnce(),
    notified: async () =>
      (await store.outbox.openItems("oncall", 99)).map(({ incident }) => `${incident.key}`),
    lost: () => watched.filter(({ lostPolls }) => lostPolls > 0).map(({ target }) => target.key),
  };
}

it("a poll that cannot be stored is lost, and those that were gathered with it are decided again", async () => {
  const { kysely, poll, notified, lost, lines } = await pollTogether(["one", "refused", "other"]);
  await sql`create trigger refuse before update on targets when new.key = 'refused'
    begin select raise(abort, 'it is refused'); end`.execute(kysely);
  await poll();
  expect(await notified()).toEqual(["one", "other"]);
  expect(lost()).toEqual(["refused"]);
  expect(lines.filter(({ level }) => level === "error")).toMatchObject([
    { event: "poll.failed", key: "refused" },
  ]);
  await sql`drop trigger refuse`.execute(kysely);
  await poll();
  expect(await notified()).toEqual(["one", "other", "refused"]);
  expect(lost()).toEqual([]);
});

it("an incident gets another id when the one that was drawn is taken", async () => {
  const { poll, ids, clock, world, notified, lost, lines } = await pollTogether(["one", "other"]);
  ids.push("drawn-again");
  await poll();
  clock.advance(30_000);
  world.listing = listing({ a: "error", b: "error" });
  ids.push("drawn-again");
  await poll();
  expect((await notified()).toSorted()).toEqual(["one", "one", "other", "other"]);
  expect(lost()).toEqual([]);
  expect(lines.map(({ event }) => event)).not.toContain("poll.failed");
});
