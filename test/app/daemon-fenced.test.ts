import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { listTargets } from "../../src/api/operations/targets.ts";
import { events, notifications } from "../support/heard.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";

const firing = "server-error firing";

/** What another process commits: it has observed that no server is in error any more. */
function resolveElsewhere({ config }: WatchedWorld): void {
  const database = new DatabaseSync(config.store.path);
  database.exec(`
    update targets set version = version + 1, attempted_polls = attempted_polls + 1000;
    update servers set status = 'idle';
    update incidents set phase = 'resolved', resolved_reason = 'recovered', resolved_at_ms = 1;
  `);
  database.close();
}

const polls = ({ config }: WatchedWorld): unknown => {
  const database = new DatabaseSync(config.store.path, { readOnly: true });
  const rows = database.prepare("select attempted_polls as polls from targets").all();
  database.close();
  return rows.map((row) => row["polls"]);
};

const fenced = (world: WatchedWorld) => events(world).filter((each) => each === "target.fenced");

it("a target that another process has written is read again, and polled from what that stored", async () => {
  const world = await watchWorld();
  world.show(0, "error");
  await world.poll(2);
  resolveElsewhere(world);
  await world.poll();
  // Without what is stored, the incident would go on, and nothing be notified.
  expect(notifications(world)).toEqual([firing, firing]);
  const [first, second] = world.alerts.map(({ data }) => data.incidents[0]?.id);
  expect(first).not.toBe(second);
  expect([fenced(world), polls(world)]).toEqual([["target.fenced"], [1_003]]);
  expect(events(world)).not.toContain("poll.failed");
  await world.poll();
  expect(polls(world)).toEqual([1_004]);
  const { targets } = await world.daemon().api(listTargets, {});
  expect(targets).toMatchObject([{ up: true, failures_in_a_row: 0 }]);
});

it("only that target is read again", async () => {
  const world = await watchWorld({ keys: ["research", "sales"] });
  await world.poll();
  const database = new DatabaseSync(world.config.store.path);
  database.exec("update targets set version = version + 1 where key = 'sales'");
  database.close();
  await world.poll(3);
  const line = world.log.find(({ event }) => event === "target.fenced");
  expect([fenced(world).length, line]).toEqual([1, expect.objectContaining({ key: "sales" })]);
  expect(polls(world)).toEqual([4, 4]);
});

it("a target that is written again and again is polled again once for each poll, and that is logged once", async () => {
  let world: WatchedWorld | null = null;
  let commits = 0;
  const wrapped = await watchWorld({
    wrapStore: (store) => ({
      ...store,
      async commitPoll(id, verdict) {
        commits += 1;
        if (world && commits <= 5) {
          const database = new DatabaseSync(world.config.store.path);
          database.exec("update targets set version = version + 1");
          database.close();
        }
        await store.commitPoll(id, verdict);
      },
    }),
  });
  world = wrapped;
  await world.poll(2);
  expect([commits, fenced(world).length]).toEqual([4, 1]);
  await world.poll();
  expect([commits, polls(world), events(world).includes("poll.recovered")]).toEqual([6, [1], true]);
});
