import { expect } from "vitest";
import { atOnce } from "../../../src/core/in-steps.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import type { SnapshotIntake } from "../../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { PageRoom } from "../../../src/core/snapshot/page-room.ts";
import type { Sighting } from "../../../src/core/snapshot/sighting.ts";
import { worlds } from "./listing-edits.ts";
import type { Poll, World } from "./listing-edits.ts";
import { createMarkedReader } from "./marked-intake.ts";
import { emptyWorld, lookAt } from "./plain-world.ts";
import type { PlainSighting, PlainWorld } from "./plain-world.ts";
import type { BringOptions } from "./worlds.ts";

const small = { worlds: worlds(6, 8), runs: { numRuns: 150 } };
const large = { worlds: worlds(400, 6), runs: { numRuns: 12 } };
export const sizes = [
  ["a few sandboxes", small],
  ["many pages", large],
] as const;

/** One poll, and what it was before and after, packed and plain. */
export interface Step {
  readonly poll: Poll;
  readonly options: BringOptions;
  readonly before: PackedSnapshot;
  readonly sighting: Sighting;
  readonly worldBefore: PlainWorld;
  readonly expected: PlainSighting;
}

/** So small that pages share blocks, and are moved, in small snapshots too. */
const roomSizes = { block: 2_048, few: 64, many: 1_024 };

export type Take = (intake: SnapshotIntake, poll: Poll) => void;

/** As a reader does that knows again what came before. */
export function takeKnown(): Take {
  const reader = createMarkedReader();
  return (intake, { listing, unmarkedEvery }) => {
    reader.readBody(intake, listing, (place) => place % unmarkedEvery !== 0);
  };
}

/** Plays polls one after the other, packed and plain. */
export function play(
  { polls, goneAfter }: World,
  visit: (step: Step) => void,
  take = takeKnown(),
): void {
  let snapshot: PackedSnapshot = { ...emptySnapshot, room: new PageRoom(roomSizes) };
  let world = emptyWorld;
  let atMs = 1_000;
  for (const poll of polls) {
    atMs += poll.waitMs;
    const { witnessed, listing } = poll;
    const options = { atMs: Math.round(atMs), observedMs: atMs, witnessed, goneAfter };
    const intake = openIntake(snapshot, { goneAfter });
    take(intake, poll);
    expect(intake.sandboxCount).toBe(new Set(listing.sandboxes.map((s) => s.sandboxId)).size);
    const sighting = atOnce(intake.finish({ ...options, complete: listing.complete }));
    const expected = lookAt(world, listing, options);
    visit({ poll, options, before: snapshot, sighting, worldBefore: world, expected });
    ({ snapshot } = sighting);
    ({ world } = expected);
  }
}
