import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { statuses } from "../../src/core/model.ts";
import type { ListedSandbox, ListedServer } from "../../src/core/model.ts";
import { openStore } from "../../src/store/store.ts";
import {
  judgeBy,
  listing,
  research,
  serverError,
  targetBlind,
  watchFleet,
} from "../support/fleet.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { contentOf, contentOfTarget, openPollStore } from "./support/poll-store.ts";
import type { Listing } from "../support/listing.ts";

describe("what is loaded is what was committed", () => {
  const text = fc.constantFrom(
    "a",
    "b",
    "c",
    "quote ' \"",
    "nul \u0000 line \n",
    "沙箱 🏖",
    "__proto__",
  );
  const optional = fc.option(text, { nil: null });
  const status = fc.constantFrom(...statuses);
  const servers = fc.uniqueArray(
    fc.record<ListedServer>({
      serverId: text,
      serverName: optional,
      status,
      benchmark: optional,
      tags: fc.array(text, { maxLength: 2 }),
    }),
    { selector: ({ serverId }) => serverId, maxLength: 4 },
  );
  const sandboxes = fc.uniqueArray(
    fc.record<ListedSandbox>({ sandboxId: text, status, benchmark: optional, servers }),
    { selector: ({ sandboxId }) => sandboxId, maxLength: 4 },
  );
  const outcome = fc.oneof(
    { weight: 4, arbitrary: fc.record<Listing>({ sandboxes, complete: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant("failed" as const) },
  );

  it("after any polls", async () => {
    const rules = [
      serverError,
      targetBlind,
      { ...serverError, name: "lasting", keepFiringForMs: 45_000, remindEveryMs: 30_000 },
      { ...serverError, name: "patient", for: { kind: "polls", polls: 2 } as const },
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(outcome, { minLength: 1, maxLength: 8 }), async (outcomes) => {
        const { store, targetId, rows } = await openPollStore();
        const { watched, poll } = watchFleet(research, { judge: judgeBy(rules), id: targetId });
        let changes = 0;
        let told = 0;
        for (const each of outcomes) {
          const verdict = poll(each, 30.25);
          await store.commitPoll(targetId, verdict);
          changes += verdict.changes.length;
          told += verdict.incidents.outbox.length;
        }
        expect(await contentOf(store)).toEqual(contentOfTarget(watched));
        const counts = (await rows("changes")).map((row) => Number(row["change_count"]));
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(changes);
        expect((await store.outbox.openItems("oncall", 1_000)).length).toBe(told);
      }),
      { numRuns: 60 },
    );
  });

  it("also by the next process", async () => {
    const path = `${tempFolder()}/store.db`;
    const first = await openPollStore(path);
    const { watched, poll } = watchFleet();
    await first.store.commitPoll(first.targetId, poll(listing({ a: "idle", b: "error" })));
    await first.store.close();
    const second = openStore(path);
    onTestFinished(() => second.close());
    expect(await contentOf(second)).toEqual(contentOfTarget(watched));
  });
});
