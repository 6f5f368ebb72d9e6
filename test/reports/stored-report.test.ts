import { describe, expect, it } from "vitest";
import {
  measureNames,
  type OccupancyView,
  reportOccupancy,
  type RowView,
} from "../../src/api/operations/occupancy.ts";
import { seededRandom } from "../../src/lib/random.ts";
import { type WatchedWorld, watchWorld } from "../support/watched-world.ts";

const statuses = ["idle", "occupied", "occupied", "error", "odd", "absent"];
const faults = ["malformed", "partial", "vanish"] as const;

/** A daemon to which much happens: odd statuses, failures, restarts, and servers that come and go. */
async function live(seed: number): Promise<WatchedWorld> {
  const random = seededRandom(seed);
  const one = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  const world = await watchWorld({ servers: 6 });
  await world.poll();
  for (let poll = 0; poll < 40; poll += 1) {
    for (const server of world.serverIds.keys()) {
      if (random() < 0.3) world.show(server, one(statuses) ?? "idle");
    }
    const chance = random();
    world.fail(...(chance < 0.3 ? [one(faults) ?? "partial"].map((kind) => ({ kind })) : []));
    if (chance > 0.95) await world.restart();
    if (chance > 0.9) world.clock.advance(20 * 60_000);
    await world.poll();
  }
  return world;
}

const seconds = measureNames.filter(
  (name) => name.endsWith("_seconds") && !/^stay|recovery/.test(name),
);

function sums(rows: readonly RowView[]): Readonly<Record<string, number>> {
  const names = [...seconds, "stays", "incidents", "recoveries"] as const;
  const sum = (name: (typeof names)[number]): number =>
    rows.reduce((total, row) => total + Number(row[name]), 0);
  return Object.fromEntries(names.map((name) => [name, Math.round(sum(name) * 1_000)]));
}

describe("a report of what a daemon stored", () => {
  it("has the same sums by any fields, whatever happened", async () => {
    const { api } = (await live(1)).daemon();
    // After the first poll: of the time before nothing is known of any server.
    const range = { from: "2026-11-20T09:35Z" };
    const all = sums((await api(reportOccupancy, range)).rows);
    expect([all["occupied_seconds"], all["unobserved_seconds"], all["incidents"]]).not.toContain(0);
    for (const by of ["server_name", "hour", "weekday,server_name", "server", "sandbox"]) {
      const { rows } = await api(reportOccupancy, { ...range, by });
      expect([by, sums(rows)]).toEqual([by, all]);
    }
  });

  it("comes a page after the other, in the range of the first one", async () => {
    const world = await live(4);
    const { api } = world.daemon();
    for (const by of ["hour,server_name", "server"]) {
      const query = { from: "7d", by };
      const whole = await api(reportOccupancy, { ...query, limit: 10_000 });
      const limit = Math.ceil(whole.rows.length / 3);
      const rows: RowView[] = [];
      let page: OccupancyView | undefined;
      do {
        const cursor = page?.next ?? null;
        page = await api(reportOccupancy, { ...query, limit, ...(cursor !== null && { cursor }) });
        rows.push(...page.rows);
        expect(page).toMatchObject({ from: whole.from, to: whole.to });
        world.clock.advance(1_000);
      } while (page.next !== null);
      expect(rows).toEqual(whole.rows);
      expect(rows.length).toBeGreaterThan(5);
    }
  });
});
