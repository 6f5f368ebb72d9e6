import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createFleet } from "../../bench/support/fleet.ts";
import type { Fleet } from "../../bench/support/fleet.ts";
import { keptListingSchema } from "../../src/service/schemas.ts";

const textOf = (fleet: Fleet): string => Buffer.concat(fleet.render()).toString();

/** Every sandbox and server must be as the interface document promises. */
function read(fleet: Fleet) {
  const { local_sandboxes: sandboxes, total_count } = keptListingSchema.parse(
    JSON.parse(textOf(fleet)),
  );
  const servers = sandboxes.flatMap((each) => each.servers);
  expect(total_count).toBe(sandboxes.length);
  return {
    sandboxIds: sandboxes.map((each) => each.local_sandbox_id),
    statuses: new Map(servers.map(({ id, status }) => [id, status])),
    updated: new Map(servers.map((server) => [server.id, server.updated_at])),
  };
}

function countChanged(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>) {
  expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
  return [...after].filter(([id, value]) => before.get(id) !== value).length;
}

it("the bench's listings have every server once, in sandboxes of four, at about 400 bytes each", () => {
  const fleet = createFleet({ seed: 1, servers: 10_001 });
  const { statuses, sandboxIds } = read(fleet);
  expect([statuses.size, new Set(sandboxIds).size]).toEqual([10_001, 2_501]);
  const bytes = textOf(fleet).length / 10_001;
  expect(bytes).toBeGreaterThan(330);
  expect(bytes).toBeLessThan(450);
});

it("of the bench's fleet exactly that changes which is to change", () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 300 }), share, (seed, servers, changed) => {
      const fleet = createFleet({ seed, servers });
      expect(textOf(fleet)).toBe(textOf(createFleet({ seed, servers })));
      const first = read(fleet);
      fleet.change(changed);
      const second = read(fleet);
      expect(countChanged(first.statuses, second.statuses)).toBe(Math.round(changed * servers));
      const shown = Object.groupBy(second.statuses.values(), String);
      for (const [status, count] of Object.entries(fleet.counts())) {
        expect(shown[status]?.length ?? 0).toBe(count);
      }
      fleet.touch();
      const touched = read(fleet);
      expect(countChanged(second.updated, touched.updated)).toBe(servers);
      expect(countChanged(second.statuses, touched.statuses)).toBe(0);
      fleet.shuffle();
      const shuffled = read(fleet);
      expect(shuffled.sandboxIds.toSorted()).toEqual(second.sandboxIds.toSorted());
      expect(countChanged(touched.updated, shuffled.updated)).toBe(0);
    }),
    { numRuns: 12 },
  );
});
