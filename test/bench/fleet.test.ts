import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFleet } from "../../bench/support/fleet.ts";
import type { Fleet } from "../../bench/support/fleet.ts";
import { keptListingSchema } from "../../src/service/schemas.ts";

interface Listed {
  readonly sandboxIds: readonly string[];
  readonly statuses: ReadonlyMap<string, unknown>;
  readonly updated: ReadonlyMap<string, unknown>;
}

/** Every sandbox and server must be as the interface document promises. */
function read(fleet: Fleet): Listed {
  const body: unknown = JSON.parse(Buffer.concat(fleet.render()).toString());
  const { local_sandboxes: sandboxes, total_count } = keptListingSchema.parse(body);
  const servers = sandboxes.flatMap((each) => each.servers);
  expect(total_count).toBe(sandboxes.length);
  return {
    sandboxIds: sandboxes.map((each) => each.local_sandbox_id),
    statuses: new Map(servers.map(({ id, status }) => [id, status])),
    updated: new Map(servers.map((server) => [server.id, server.updated_at])),
  };
}

function countChanged(
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): number {
  expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
  return [...after].filter(([id, value]) => before.get(id) !== value).length;
}

describe("the bench's listings", () => {
  it("list every server once, in sandboxes of four, at about 400 bytes each", () => {
    const fleet = createFleet({ seed: 1, servers: 10_001 });
    const listed = read(fleet);
    expect(listed.statuses.size).toBe(10_001);
    expect(new Set(listed.sandboxIds).size).toBe(2_501);
    const bytes = Buffer.concat(fleet.render()).length / 10_001;
    expect(bytes).toBeGreaterThan(330);
    expect(bytes).toBeLessThan(450);
  });

  it("are the same for the same seed, and others for another", () => {
    const render = (seed: number): string =>
      Buffer.concat(createFleet({ seed, servers: 40 }).render()).toString();
    expect(render(7)).toBe(render(7));
    expect(render(7)).not.toBe(render(8));
  });

  it("change the status of exactly the promised share, and count what they show", () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 300 }), share, (seed, servers, changed) => {
        const fleet = createFleet({ seed, servers });
        const first = read(fleet);
        fleet.change(changed);
        const second = read(fleet);
        expect(countChanged(first.statuses, second.statuses)).toBe(Math.round(changed * servers));
        const shown = Object.groupBy(second.statuses.values(), String);
        for (const [status, count] of Object.entries(fleet.counts())) {
          expect(shown[status]?.length ?? 0).toBe(count);
        }
      }),
    );
  });

  it("put one more server into error", () => {
    const fleet = createFleet({ seed: 3, servers: 50 });
    const before = fleet.counts().error;
    const first = read(fleet);
    fleet.breakOne();
    expect(fleet.counts().error).toBe(before + 1);
    expect(countChanged(first.statuses, read(fleet).statuses)).toBe(1);
  });

  it("touch every server without another status", () => {
    const fleet = createFleet({ seed: 4, servers: 90 });
    const first = read(fleet);
    fleet.touch();
    const second = read(fleet);
    expect(countChanged(first.updated, second.updated)).toBe(90);
    expect(countChanged(first.statuses, second.statuses)).toBe(0);
  });

  it("shuffle the sandboxes and nothing else", () => {
    const fleet = createFleet({ seed: 5, servers: 400 });
    const first = read(fleet);
    fleet.shuffle();
    const second = read(fleet);
    expect(second.sandboxIds).not.toEqual(first.sandboxIds);
    expect(second.sandboxIds.toSorted()).toEqual(first.sandboxIds.toSorted());
    expect(countChanged(first.updated, second.updated)).toBe(0);
    expect(countChanged(first.statuses, second.statuses)).toBe(0);
  });
});
