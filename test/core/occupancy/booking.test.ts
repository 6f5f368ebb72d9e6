import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../../src/core/judge.ts";
import { bookTime, unobservedMsOf } from "../../../src/core/occupancy/booking.ts";
import type { Booking } from "../../../src/core/occupancy/booking.ts";
import { statuses } from "../../../src/core/model.ts";
import type { Status } from "../../../src/core/model.ts";
import { listedServer, listingOf } from "../support/samples.ts";
import { createWatch, intervalMs } from "../support/watch.ts";
import type { Watch } from "../support/watch.ts";
import { listings, snapshotOf } from "../support/worlds.ts";

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, each) => total + each, 0);

interface Booked {
  readonly servers: readonly { serverName: string; status: Status; ms: number }[];
  readonly unobservedMs: number;
}

function bookedBy(booking: Booking): Booked {
  const { observed, tallies, elapsedMs } = booking;
  const servers = (observed ? [...tallies.values()] : []).flatMap(({ name, listed }) =>
    statuses.map((status) => ({ serverName: name, status, ms: listed[status] * elapsedMs })),
  );
  return {
    servers: servers.filter(({ ms }) => ms > 0),
    unobservedMs: unobservedMsOf(booking),
  };
}

describe("observed time", () => {
  it("goes to the status and name that each server had", () => {
    const snapshot = snapshotOf(
      listingOf(
        listedServer("a", "idle"),
        listedServer("b", "idle"),
        listedServer("c", "error"),
        listedServer("d", "error", { serverName: null }),
      ),
    );
    expect(bookedBy(bookTime(snapshot, 1_000, true))).toEqual({
      servers: [
        { serverName: "github", status: "idle", ms: 2_000 },
        { serverName: "github", status: "error", ms: 1_000 },
        { serverName: "", status: "error", ms: 1_000 },
      ],
      unobservedMs: 0,
    });
  });

  it("over all statuses is the time that passed, times the servers that were listed", () => {
    fc.assert(
      fc.property(fc.array(listings, { maxLength: 4 }), fc.nat(1e6), (seen, elapsedMs) => {
        const snapshot = snapshotOf(...seen);
        const listed = [...snapshot.servers()].filter(({ missing }) => missing === 0).length;
        const booking = bookedBy(bookTime(snapshot, elapsedMs, true));
        expect(sum(booking.servers.map(({ ms }) => ms))).toBe(elapsedMs * listed);
      }),
    );
  });

  it("is none when nothing was observed: no server is taken for idle", () => {
    const snapshot = snapshotOf(listingOf(listedServer("a", "idle")));
    expect(bookedBy(bookTime(snapshot, 1_000, false))).toEqual({
      servers: [],
      unobservedMs: 1_000,
    });
  });
});

describe("a target's time", () => {
  const watched = (ms: number): Booked => ({
    servers: [{ serverName: "github", status: "idle", ms }],
    unobservedMs: 0,
  });
  const unobserved = (unobservedMs: number): Booked => ({ servers: [], unobservedMs });
  const idle = listedServer("a", "idle");

  const stretches: readonly [string, (watch: Watch) => Verdict, Booked][] = [
    ["between two complete listings is observed", (w) => w.see(idle), watched(intervalMs)],
    ["before a failed poll is not", (w) => w.fail(), unobserved(intervalMs)],
    ["before a partial listing is not", (w) => w.seePart(idle), unobserved(intervalMs)],
    ["after a failed poll is not", (w) => (w.fail(), w.see(idle)), unobserved(intervalMs)],
    ["after a partial listing is not", (w) => (w.seePart(), w.see(idle)), unobserved(intervalMs)],
    ["across a restart is not", (w) => (w.restart(), w.see(idle)), unobserved(intervalMs)],
    ["before a server is missed is still its own", (w) => w.see(), watched(intervalMs)],
    [
      "while a server is missing is not that server's",
      (w) => (w.see(), w.see()),
      { servers: [], unobservedMs: 0 },
    ],
  ];

  it.each(stretches)("%s", (_sentence, play, booking) => {
    const watch = createWatch();
    watch.see(idle);
    expect(bookedBy(play(watch).booking)).toEqual(booking);
  });

  it("is either observed or unobserved, whatever happens to its polls", () => {
    const witness = listedServer("witness", "occupied", { serverName: "witness" });
    const events = fc.array(
      fc.record({
        kind: fc.constantFrom("see", "see", "see", "seePart", "fail", "restart"),
        waitMs: fc.constantFrom(0, 0, 5_000, 600_000),
        others: fc.uniqueArray(fc.constantFrom("a", "b", "c")),
      }),
      { maxLength: 25 },
    );
    fc.assert(
      fc.property(events, (played) => {
        const watch = createWatch();
        let observedMs = 0;
        let unobservedMs = 0;
        const book = (verdict: Verdict): void => {
          const booking = bookedBy(verdict.booking);
          observedMs += sum(
            booking.servers.filter(({ serverName }) => serverName === "witness").map((s) => s.ms),
          );
          unobservedMs += booking.unobservedMs;
        };
        book(watch.see(witness));
        const { lastPollAtMs } = watch.state.progress;
        for (const { kind, waitMs, others } of played) {
          watch.wait(waitMs);
          const servers = [witness, ...others.map((id) => listedServer(id, "idle"))];
          if (kind === "restart") watch.restart();
          else if (kind === "fail") book(watch.fail());
          else if (kind === "see") book(watch.see(...servers));
          else book(watch.seePart(...servers));
        }
        const elapsedMs = (watch.state.progress.lastPollAtMs ?? 0) - (lastPollAtMs ?? 0);
        expect(observedMs + unobservedMs).toBe(elapsedMs);
      }),
    );
  });
});
