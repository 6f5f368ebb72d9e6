import { expect, it, onTestFinished } from "vitest";
import { openStore } from "../src/store/store.ts";
import { sumOf, told } from "./support/heard.ts";
import { watchWorld } from "./support/watched-world.ts";

/** The daemon on a disk that takes nothing before it is let. */
async function watchOnSlowDisk() {
  let isSlow = false;
  let asked = Promise.withResolvers<void>();
  let taken = Promise.withResolvers<void>();
  const sync = async (): Promise<void> => {
    if (!isSlow) return;
    asked.resolve();
    await taken.promise;
  };
  const world = await watchWorld({ openStore: (path) => openStore(path, undefined, { sync }) });
  const speedUp = (): void => {
    isSlow = false;
    taken.resolve();
  };
  onTestFinished(speedUp);
  return {
    world,
    /** @returns once it is waited for */
    slowDown: (): Promise<void> => {
      isSlow = true;
      asked = Promise.withResolvers();
      taken = Promise.withResolvers();
      return asked.promise;
    },
    speedUp,
  };
}

it("while the disk takes its time everything is answered, and nobody is told what it may not have", async () => {
  const { world, slowDown, speedUp } = await watchOnSlowDisk();
  await world.poll();
  const address = await world.address();
  const waitedFor = slowDown();
  world.show(0, "error");
  const polling = world.poll();
  await waitedFor;

  const servers = await fetch(`${address}/api/v1/servers`);
  const healthy = await fetch(`${address}/-/healthy`);
  expect([servers.status, healthy.status]).toEqual([200, 200]);
  expect(sumOf(await world.metrics(), "sandbox_servers", 'status="error"')).toBe(0);
  expect(told(world)).toEqual([]);
  const incidents = fetch(`${address}/api/v1/incidents`).then((answer) => answer.json());
  const early = await Promise.race([incidents, fetch(`${address}/-/healthy`)]);
  expect(early).toBeInstanceOf(Response);

  speedUp();
  expect(await incidents).toMatchObject({ incidents: [{ rule: "server-error" }] });
  await polling;
  expect(sumOf(await world.metrics(), "sandbox_servers", 'status="error"')).toBe(1);
  expect(told(world)).toEqual(["server-error firing"]);
});
