import { expect, it } from "vitest";
import { judgeInSlices } from "../../src/alerts/judge.ts";
import type { ListedServer } from "../../src/fleet/snapshot.ts";
import { judgeBy } from "../support/fleet.ts";
import { readListing } from "../support/listing.ts";
import { listedServer, listingOf, serverRule } from "./support/samples.ts";
import { createWatch, startUtcMs } from "./support/watch.ts";
import type { Watch } from "./support/watch.ts";

/** How often it pauses to decide what one more poll means, which lists these servers. */
function countPauses(watch: Watch, servers: readonly ListedServer[]): number {
  const options = judgeBy([serverRule()]);
  const at = { utcMs: startUtcMs + 9e6, monotonicMs: 9e6 };
  const outcome = { kind: "listed", listing: readListing(listingOf(...servers)) } as const;
  return Array.from(judgeInSlices(watch.state, outcome, at, options)).length;
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
