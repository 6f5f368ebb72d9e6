import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { Holds } from "../../../src/core/snapshot/holds.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: unknown = runInNewContext("gc");

/** What nobody has any more is free only after the turn in which it was looked at. */
async function collect(): Promise<void> {
  await setImmediate();
  if (typeof collectGarbage !== "function") throw new Error("there is no gc()");
  collectGarbage();
}

describe("holds", () => {
  it("last until the last one is disposed of", async () => {
    const holds = new Holds();
    const [one, other] = [holds.begin(), holds.begin()];
    one[Symbol.dispose]();
    await collect();
    expect(holds.isEmpty).toBe(false);
    other[Symbol.dispose]();
    expect(holds.isEmpty).toBe(true);
  });

  it("end with whoever had one, where he did not dispose of it", async () => {
    const holds = new Holds();
    const readNever = (function* () {
      using _ = holds.begin();
      yield;
    })();
    readNever.next();
    await collect();
    expect(holds.isEmpty).toBe(false);
    readNever.next();
    expect(holds.isEmpty).toBe(true);
    holds.begin();
    await collect();
    expect(holds.isEmpty).toBe(true);
  });
});
