import { expect, it } from "vitest";
import { atOnce } from "../../../src/core/in-steps.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { nextTexts, theSame } from "../../support/came-texts.ts";
import { createMarkedReader } from "../support/marked-intake.ts";
import { listedSandbox, listedServer } from "../support/samples.ts";

const options = { complete: true, atMs: 1_000, observedMs: 1_000, witnessed: true };

/** After a listing of so many sandboxes. */
function intakeAfter(count: number, isMarked?: (place: number) => boolean) {
  const opened = openIntake(emptySnapshot, { goneAfter: 2 });
  const all = Array.from({ length: count }, (_, at) =>
    listedSandbox(`box-${at}`, [listedServer("a", "idle")]),
  );
  createMarkedReader().read(opened, all, isMarked);
  return openIntake(atOnce(opened.finish(options)).snapshot, { goneAfter: 2 });
}

it("are told up to a sandbox that has no mark, and no further", () => {
  const intake = intakeAfter(4, (place) => place !== 2);
  expect(nextTexts(intake, 4).marks).toHaveLength(2);
});

it("are not taken for more than their page holds", () => {
  const next = nextTexts(intakeAfter(3), 3);
  expect(() => next.take([theSame, theSame, theSame, theSame])).toThrow(RangeError);
});

it("are not taken where none is expected", () => {
  const next = nextTexts(openIntake(emptySnapshot, { goneAfter: 2 }), 1);
  expect(next.marks).toEqual([]);
  expect(() => next.take([theSame])).toThrow(RangeError);
});
