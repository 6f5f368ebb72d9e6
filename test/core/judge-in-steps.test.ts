import { expect, it } from "vitest";
import { judgeInSteps } from "../../src/core/judge.ts";
import type { ListedServer } from "../../src/core/model.ts";
import { judgeBy } from "../support/fleet.ts";
import { intakeOf } from "../support/take-in.ts";
import { listedServer, listingOf, serverRule } from "./support/samples.ts";
import { createWatch, startUtcMs } from "./support/watch.ts";
import type { Watch } from "./support/watch.ts";

/** How often it pauses to decide what one more poll means, which lists these servers. */
function countPauses(watch: Watch, servers: readonly ListedServer[]): number {
  const options = judgeBy([serverRule()]);
  const at = { utcMs: startUtcMs + 9e6, monotonicMs: 9e6 };
  const { sandboxes } = listingOf(...servers);
  const intake = intakeOf(watch.state.snapshot, sandboxes, options.goneAfter);
  const outcome = { kind: "listed", intake, complete: true } as const;
  return Array.from(judgeInSteps(watch.state, outcome, at, options)).length;
}

function erring(count: number): readonly ListedServer[] {
  return Array.from({ length: count }, (_, index) => listedServer(`server-${index}`, "error"));
}

function watchErring(count: number): Watch {
  const watch = createWatch();
  watch.see(...erring(count));
  return watch;
}

it("a listing of a few servers is judged without a pause: its poll may be committed with others", () => {
  expect(countPauses(createWatch(), erring(20))).toBe(0);
  expect(countPauses(watchErring(20), erring(20))).toBe(0);
});

it.each([
  ["fire", () => countPauses(createWatch(), erring(2_000))],
  ["go on", () => countPauses(watchErring(2_000), erring(2_000))],
  ["are not seen", () => countPauses(watchErring(2_000), [])],
])("others have their turns again and again while thousands of incidents %s", (_, pauses) => {
  expect(pauses()).toBeGreaterThan(12);
});
