import { describe, expect, it } from "vitest";
import type { StoredSilence } from "../../../src/store/silences.ts";
import type { Store } from "../../../src/store/store.ts";
import { startMs } from "../../support/fleet.ts";
import { openOutboxStore } from "../support/outbox-store.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  const hourMs = 3_600_000;
  const dayMs = 24 * hourMs;

  function silenceOf(id: string, startsAtMs: number): StoredSilence {
    return {
      id,
      match: { region: ["us"] },
      author: "ann",
      reason: "maintenance",
      createdAtMs: startsAtMs,
      startsAtMs,
      endsAtMs: startsAtMs + hourMs,
    };
  }

  /** A store that keeps a silence, `s1`, in force from `startMs` for an hour. */
  async function openWithSilence(): Promise<Store["silences"]> {
    const { store } = await openOutboxStore(engine);
    await store.silences.add(silenceOf("s1", startMs));
    return store.silences;
  }

  describe("the end of a silence", () => {
    it("can be moved to an earlier moment while it is in force", async () => {
      const silences = await openWithSilence();
      await silences.end("s1", startMs + 1);
      expect(await silences.find("s1")).toMatchObject({ endsAtMs: startMs + 1 });
    });

    it.each([
      ["at its end", startMs + hourMs],
      ["later", startMs + 2 * hourMs],
    ])("is not moved once it has come: %s", async (_, atMs) => {
      const silences = await openWithSilence();
      await silences.end("s1", atMs);
      expect(await silences.find("s1")).toMatchObject({ endsAtMs: startMs + hourMs });
      expect(await silences.open(atMs)).toEqual([]);
    });

    it("is that of no other silence", async () => {
      const silences = await openWithSilence();
      await silences.end("s2", startMs + 1);
      expect(await silences.find("s1")).toMatchObject({ endsAtMs: startMs + hourMs });
    });
  });

  describe("a silence that has ended", () => {
    const endsAtMs = startMs + hourMs;

    it("is listed among the ended ones only", async () => {
      const silences = await openWithSilence();
      const ids = async (nowMs: number, ended: boolean): Promise<readonly string[]> => {
        const page = await silences.page({ ended, nowMs, limit: 9, before: null });
        return page.map(({ id }) => id);
      };
      expect(await ids(endsAtMs - 1, false)).toEqual(["s1"]);
      expect(await ids(endsAtMs, false)).toEqual([]);
      expect(await ids(endsAtMs, true)).toEqual(["s1"]);
    });

    it("is kept until it is pruned, for its end", async () => {
      const { store } = await openOutboxStore(engine);
      await store.silences.add(silenceOf("s1", startMs));
      await store.silences.add(silenceOf("s2", startMs + 1));
      expect(await store.silences.open(endsAtMs + 30 * dayMs)).toEqual([]);
      await store.prune.silences(endsAtMs);
      expect(await store.silences.find("s1")).toMatchObject({ id: "s1" });
      await store.prune.silences(endsAtMs + 1);
      expect(await store.silences.find("s1")).toBeNull();
      expect(await store.silences.find("s2")).toMatchObject({ id: "s2" });
    });
  });
});
