import * as fc from "fast-check";
import { expect, it } from "vitest";
import { changesOf, takeIn } from "../../support/take-in.ts";
import type { World } from "../support/listing-edits.ts";
import { createMarkedReader } from "../support/marked-intake.ts";
import { play, sizes, takeKnown } from "../support/play.ts";
import type { Take } from "../support/play.ts";
import { spelledOut } from "../support/unpacked.ts";

/** As a reader does that knows nothing. */
const takeRead: Take = (intake, { listing }) => {
  takeIn(intake, listing.sandboxes);
};

/** What each poll came to. */
function spellOut(world: World, take: Take): readonly object[] {
  const all: object[] = [];
  play(
    world,
    ({ sighting }) => {
      all.push({ pages: spelledOut(sighting.snapshot), changes: changesOf(sighting.changes) });
    },
    take,
  );
  return all;
}

it.each(sizes)(
  "marks spare the reading, and tell nothing else than the reading would: %s",
  (_, size) => {
    fc.assert(
      fc.property(size.worlds, (world) => {
        expect(spellOut(world, takeKnown())).toEqual(spellOut(world, takeRead));
      }),
      size.runs,
    );
  },
);

it.each(sizes)(
  "sandboxes in a row that are taken at once tell nothing else than the reading would: %s",
  (_, size) => {
    let skippedInRows = 0;
    fc.assert(
      fc.property(size.worlds, fc.infiniteStream(fc.constantFrom(1, 6)), (world, times) => {
        const reader = createMarkedReader();
        const polls = world.polls.flatMap((poll) =>
          Array.from({ length: times.next().value }, () => poll),
        );
        const repeated = { ...world, polls };
        const spelled = spellOut(repeated, (intake, { listing }) => {
          reader.read(intake, listing.sandboxes);
        });
        expect(spelled).toEqual(spellOut(repeated, takeRead));
        skippedInRows += reader.skippedInRows;
      }),
      size.runs,
    );
    expect(skippedInRows).toBeGreaterThan(0);
  },
);
