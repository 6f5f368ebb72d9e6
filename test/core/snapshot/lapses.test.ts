import * as fc from "fast-check";
import { expect, it } from "vitest";
import { judgePoll } from "../../../src/core/judge.ts";
import { statuses } from "../../../src/core/model.ts";
import type { Presence, Status } from "../../../src/core/model.ts";
import { judgeBy, watchFleet } from "../../support/fleet.ts";
import { intakeOf } from "../../support/take-in.ts";
import { worlds } from "../support/listing-edits.ts";
import { keyOf } from "../support/plain-world.ts";
import { unpackAll } from "../support/unpacked.ts";

interface Known {
  readonly status: Presence;
  readonly isListed: boolean;
}

const fates = fc.array(fc.constantFrom("well", "well", "well", "failed"), { minLength: 12 });

it("changes and lapses tell in which status each server was watched, and for how long", () => {
  fc.assert(
    fc.property(worlds(8, 12), fates, ({ polls, goneAfter }, luck) => {
      const { watched } = watchFleet();
      const judge = { ...judgeBy([]), goneAfter };
      const servers = new Map<string, Known>();
      const booked = noTime();
      const rebuilt = noTime();
      let at = { utcMs: 1_000, monotonicMs: 1_000 };
      for (const [turn, { listing, waitMs }] of polls.entries()) {
        const ms = Math.round(waitMs);
        at = { utcMs: at.utcMs + ms, monotonicMs: at.monotonicMs + ms };
        const { sandboxes, complete } = listing;
        const isLost = luck[turn] === "failed";
        const intake = intakeOf(watched.state.snapshot, sandboxes, goneAfter);
        const verdict = judgePoll(
          watched.state,
          isLost ? { kind: "failed", reason: "timeout" } : { kind: "listed", intake, complete },
          at,
          judge,
        );
        const { booking, changes } = verdict;
        if (booking.observed) {
          for (const { listed } of booking.tallies.values()) {
            for (const status of statuses) booked[status] += listed[status] * booking.elapsedMs;
          }
          for (const { status, isListed } of servers.values()) {
            if (isListed && status !== "absent") rebuilt[status] += booking.elapsedMs;
          }
        }
        const { changes: changed, lapses } = unpackAll(changes, 5);
        for (const each of [...changed, ...lapses]) {
          servers.set(keyOf(each), { status: each.to, isListed: each.lapse !== "missing" });
        }
        watched.accept(verdict);
      }
      expect(rebuilt).toEqual(booked);
    }),
    { numRuns: 200 },
  );
});

function noTime(): Record<Status, number> {
  return { idle: 0, occupied: 0, error: 0, unknown: 0 };
}
