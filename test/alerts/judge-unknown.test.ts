import { changesOf } from "../support/listing.ts";
import { describe, expect, it } from "vitest";
import { inPolls, lasting, listedServer, serverRule } from "./support/samples.ts";
import { stepsOf } from "./support/steps.ts";
import { createWatch, intervalMs } from "./support/watch.ts";
import type { Watch } from "./support/watch.ts";

const idle = listedServer("a", "idle");
const broken = listedServer("a", "error");
const unstated = listedServer("a", "unknown");

function seeUnstated(watch: Watch, polls: number): readonly string[] {
  return Array.from({ length: polls }, () => watch.see(unstated)).flatMap((verdict) =>
    stepsOf(verdict.incidents),
  );
}

describe("while the status of a server is unknown, its incident of another rule", () => {
  it("neither resolves nor opens again", () => {
    const watch = createWatch();
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a"]);
    expect(seeUnstated(watch, 4)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(idle).incidents)).toEqual(["resolved server-error a (recovered)"]);
    expect(watch.outbox.map(({ type }) => type)).toEqual(["incident.firing", "incident.resolved"]);
  });

  it("resolves when another status is stated than the one of the rule", () => {
    const watch = createWatch();
    watch.see(broken);
    seeUnstated(watch, 1);
    expect(stepsOf(watch.see(idle).incidents)).toEqual(["resolved server-error a (recovered)"]);
  });

  it("outlives a restart", () => {
    const watch = createWatch();
    watch.see(broken);
    seeUnstated(watch, 1);
    watch.restart();
    expect(seeUnstated(watch, 2)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
  });

  it("does not come nearer to firing, neither by duration nor by polls", () => {
    const rules = [
      serverRule({ name: "long", for: lasting(2 * intervalMs) }),
      serverRule({ name: "often", for: inPolls(3) }),
      serverRule({ name: "busy", status: "occupied", for: inPolls(2) }),
    ];
    const watch = createWatch({ rules });
    watch.see(broken);
    expect(seeUnstated(watch, 5)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired long a", "fired often a"]);
  });

  it("does not come nearer to its end by keep_firing_for", () => {
    const watch = createWatch({ rules: [serverRule({ keepFiringForMs: 2 * intervalMs })] });
    watch.see(broken);
    watch.see(idle);
    expect(seeUnstated(watch, 5)).toEqual([]);
    expect(stepsOf(watch.see(idle).incidents)).toEqual([]);
    expect(stepsOf(watch.see(idle).incidents)).toEqual(["resolved server-error a (recovered)"]);
  });

  it("sends no reminder, and the time until the next one stands still", () => {
    const watch = createWatch({ rules: [serverRule({ remindEveryMs: 2 * intervalMs })] });
    watch.see(broken);
    expect(seeUnstated(watch, 6)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["reminded server-error a"]);
  });

  it("stays acknowledged", () => {
    const watch = createWatch({ rules: [serverRule({ remindEveryMs: intervalMs })] });
    watch.see(broken);
    for (const { id } of watch.state.incidents.values()) watch.acknowledge(id, "ann");
    seeUnstated(watch, 2);
    expect([1, 2].flatMap(() => stepsOf(watch.see(broken).incidents))).toEqual([]);
  });

  it("does not flap by it", () => {
    const flap = { changes: 1, withinMs: 100 * intervalMs };
    const watch = createWatch({ rules: [serverRule({ flap })] });
    const steps = [1, 2, 3].flatMap(() => [
      ...stepsOf(watch.see(broken).incidents),
      ...seeUnstated(watch, 1),
    ]);
    expect(steps).toEqual(["fired server-error a"]);
  });

  it("does not settle by it: the time within which it flaps stands still", () => {
    const flap = { changes: 1, withinMs: 3 * intervalMs };
    const watch = createWatch({ rules: [serverRule({ flap })] });
    watch.see(broken);
    watch.see(idle);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a"]);
    expect(seeUnstated(watch, 10)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["settled server-error a"]);
  });

  it("resolves as gone once complete listings lack the server", () => {
    const watch = createWatch({ goneAfter: 2 });
    watch.see(broken);
    seeUnstated(watch, 2);
    expect([watch.see(), watch.see()].flatMap(({ incidents }) => stepsOf(incidents))).toEqual([
      "resolved server-error a (gone)",
    ]);
  });

  it("is not opened anew for one server because another is in error", () => {
    const watch = createWatch();
    watch.see(broken, listedServer("b", "idle"));
    const verdict = watch.see(unstated, listedServer("b", "error"));
    expect(stepsOf(verdict.incidents)).toEqual(["fired server-error b"]);
  });
});

it("a rule on unknown fires while a status is unknown, and resolves once one is stated", () => {
  const watch = createWatch({ rules: [serverRule({ name: "unstated", status: "unknown" })] });
  watch.see(broken);
  expect(seeUnstated(watch, 2)).toEqual(["fired unstated a"]);
  expect(stepsOf(watch.see(broken).incidents)).toEqual(["resolved unstated a (recovered)"]);
});

it("unknown is a status like any other for changes", () => {
  const watch = createWatch();
  watch.see(broken);
  const changes = [watch.see(unstated), watch.see(broken)].flatMap(({ diff }) => changesOf(diff));
  expect(changes).toMatchObject([
    { from: "error", to: "unknown" },
    { from: "unknown", to: "error" },
  ]);
});
