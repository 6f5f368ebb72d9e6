import * as fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { statuses } from "../../src/fleet/model.ts";
import type { Presence } from "../../src/fleet/model.ts";
import { resolutions } from "../../src/fleet/buckets.ts";
import { countDwells } from "../../src/fleet/dwell.ts";
import type { Fault } from "../../src/simulator/faults.ts";
import type { Store } from "../../src/store/store.ts";
import { bucketsIn, collect } from "../support/collect.ts";
import { trueBuckets } from "../sim/oracle/buckets.ts";
import type { ShownServer } from "../sim/oracle/evidence.ts";
import { truthOf } from "../sim/oracle/truth.ts";
import type { PollRecord } from "../sim/oracle/truth.ts";
import { apiKey, watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

type Totals = ReadonlyMap<string, number>;

/** None of them is asked about again: a retry would wait for a clock that stands still. */
const faults: readonly (Fault | null)[] = [
  null,
  null,
  null,
  null,
  { kind: "status", status: 404 },
  { kind: "malformed" },
  { kind: "partial" },
];

const turns = fc.array(
  fc.record({
    shown: fc.record({
      server: fc.nat(2),
      status: fc.constantFrom<Presence>("idle", "occupied", "error", "unknown", "absent"),
    }),
    waitMs: fc.constantFrom(0, 0, 1_234, 400_000, 5_000_000),
    fault: fc.constantFrom(...faults),
    restarts: fc.constantFrom(false, false, false, true),
  }),
  { minLength: 12, maxLength: 16 },
);

it("over any number of restarts, what is kept is what the service showed, and what is counted too", async () => {
  const property = fc.asyncProperty(turns, async (played) => {
    const stores: Store[] = [];
    const world = await watchWorld({ wrapStore: (store) => (stores.push(store), store) });
    const service = watchService(world);
    const counted = new Map<string, number>();
    const count = async (): Promise<void> => {
      for (const [name, value] of countersIn(await world.metrics())) {
        counted.set(name, (counted.get(name) ?? 0) + value);
      }
    };
    for (const { shown, waitMs, fault, restarts } of played) {
      if (restarts) {
        await count();
        await world.restart();
      }
      world.clock.advance(waitMs);
      world.show(shown.server, shown.status === "unknown" ? "resting" : shown.status);
      world.fail(...(fault ? [fault] : []));
      const listed = await service.list();
      await world.poll();
      service.polled(listed, restarts);
    }
    await count();
    const store = stores.at(-1);
    if (!store) throw new Error("the daemon opened no store");

    for (const resolution of resolutions) {
      const found = await bucketsIn(store.occupancy, { resolution });
      const held = found.map(({ bucket }) => bucket);
      const recorded = held.filter(({ recordedMs }) => recordedMs > 0);
      expect(recorded).toEqual(trueBuckets(service.truth(), resolution));
    }
    const kept = await totalsIn(store);
    const differing = [...new Set([...counted.keys(), ...kept.keys()])].filter(
      (name) => Math.abs((counted.get(name) ?? 0) - (kept.get(name) ?? 0)) > 1e-6,
    );
    expect(differing).toEqual([]);
    expect([...counted.values()].some((value) => value > 0)).toBe(true);
  });
  await expect(fc.assert(property, { numRuns: 4 })).resolves.toBeUndefined();
});

/** Polled every five seconds, a daemon that let more pass between two polls was held up. */
const heldUpMs = 10_500;

const listingSchema = z.object({
  local_sandboxes: z.array(
    z.object({
      local_sandbox_id: z.string(),
      servers: z.array(z.object({ id: z.string(), server_name: z.string(), status: z.string() })),
    }),
  ),
  total_count: z.number(),
});

/** Asks the service itself what it shows, and works out what must be known from that. */
function watchService(world: WatchedWorld) {
  const records: PollRecord[] = [];
  const nothing = { accepted: false, complete: false, shown: new Map<string, ShownServer>() };
  return {
    async list() {
      const address = world.config.regions.get("us")?.baseUrl ?? "";
      const response = await fetch(`${address}/local-sandbox`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      const text = await response.text();
      if (!response.ok || text.startsWith("<")) return nothing;
      const listing = listingSchema.parse(JSON.parse(text));
      const shown = listing.local_sandboxes.flatMap(({ local_sandbox_id: box, servers: listed }) =>
        listed.map(({ id, server_name: name, status }): [string, ShownServer] => [
          `${box} ${id}`,
          { name, status: statuses.find((each) => each === status) ?? "unknown" },
        ]),
      );
      const complete = listing.total_count === listing.local_sandboxes.length;
      return { accepted: true, complete, shown: new Map(shown) };
    },
    polled(listed: Pick<PollRecord, "accepted" | "complete" | "shown">, restarted: boolean): void {
      const { utcMs } = world.clock.now();
      const last = records.at(-1);
      const elapsedMs = last ? utcMs - last.utcMs : 0;
      const unbroken = last !== undefined && !restarted && elapsedMs <= heldUpMs;
      records.push({ ...listed, utcMs, elapsedMs, unbroken, forgotten: new Set() });
    },
    truth: () => truthOf(records, world.config.poll.goneAfter),
  };
}

const prefixes = [
  "sandbox_server_status_seconds_total{",
  "sandbox_unobserved_seconds_total{",
  "sandbox_server_transitions_total{",
  "sandbox_server_status_duration_seconds_count{",
  "sandbox_server_status_duration_seconds_sum{",
];

function countersIn(exposition: string): Totals {
  const lines = exposition.split("\n").filter((line) => prefixes.some((p) => line.startsWith(p)));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

/** By the same series. */
async function totalsIn(store: Store): Promise<Totals> {
  const totals = new Map<string, number>();
  const add = (series: string, value: number): void => {
    totals.set(series, (totals.get(series) ?? 0) + value);
  };
  const addDwells = (labels: string, count: number, ms: number): void => {
    add(`sandbox_server_status_duration_seconds_count{${labels}}`, count);
    add(`sandbox_server_status_duration_seconds_sum{${labels}}`, ms / 1_000);
  };
  for (const { target, bucket } of await bucketsIn(store.occupancy, { resolution: "1h" })) {
    const ofTarget = `region="${target.region}",key="${target.key}"`;
    add(`sandbox_unobserved_seconds_total{${ofTarget}}`, bucket.unobservedMs / 1_000);
    for (const [name, { ms, dwells }] of bucket.names) {
      addDwells(`${ofTarget},status="occupied"`, countDwells(dwells), dwells.sumMs);
      for (const status of statuses) {
        const ofName = `${ofTarget},server_name="${name}",status="${status}"`;
        add(`sandbox_server_status_seconds_total{${ofName}}`, ms[status] / 1_000);
      }
    }
  }
  for (const { target, serverName, from, to, dwellMs } of await collect(
    store.changes.between({ ...always, direction: "asc" }),
  )) {
    const ofTarget = `region="${target.region}",key="${target.key}"`;
    const labels = `${ofTarget},server_name="${serverName ?? ""}",from="${from}",to="${to}"`;
    add(`sandbox_server_transitions_total{${labels}}`, 1);
    // Those in occupied are in the occupancy.
    if (dwellMs !== null && from !== "occupied") {
      addDwells(`${ofTarget},status="${from}"`, 1, dwellMs);
    }
  }
  return totals;
}
