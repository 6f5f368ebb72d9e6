import { copyFileSync, renameSync, rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { sumOf, notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";

describe("a store whose file is", () => {
  it.each<readonly [string, (store: string) => void]>([
    ["deleted", (store) => rmSync(store)],
    [
      "replaced",
      (store) => {
        copyFileSync(store, `${store}.copy`);
        renameSync(`${store}.copy`, store);
      },
    ],
    ["without its log", (store) => rmSync(`${store}-wal`)],
    ["without its log's index", (store) => rmSync(`${store}-shm`)],
  ])("%s is noticed at the next commit, and nothing is claimed from then on", async (_, lose) => {
    const world = await watchWorld({
      openStore: (path, observers) => openStore(path, undefined, observers),
    });
    await world.poll();
    lose(world.config.store.path);
    world.show(0, "error");
    world.clock.advance(5_000);
    await world.daemon().pollOnce();
    const text = await world.metrics();
    expect(sumOf(text, "sandwatch_target_up")).toBe(0);
    expect(text).toContain("sandwatch_store_commit_failures_total 1");
    expect(sumOf(text, "sandbox_servers", 'status="error"')).toBe(0);
    const ready = await fetch(`${await world.address()}/-/ready`);
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringMatching(/was deleted or replaced while sandwatch runs.*start sandwatch again/),
    ]);
    world.clock.advance(60_000);
    await world.daemon().pollOnce();
    await world
      .daemon()
      .runOnce()
      .catch(() => {});
    expect(notifications(world)).toEqual([]);
    expect(world.log.filter(({ event }) => event === "store.replaced")).toHaveLength(1);
    await expect(world.daemon().checkStore()).rejects.toThrow("deleted or replaced");

    await world.restart();
    await world.poll(2);
    expect(notifications(world)).toEqual(["server-error firing"]);
    const again = await fetch(`${await world.address()}/-/ready`);
    expect(again.status).toBe(200);
  });
});
