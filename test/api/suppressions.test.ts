import { expect, it } from "vitest";
import { restoreSuppressions } from "../../src/api/suppressions.ts";
import { startMs } from "../support/fleet.ts";

it("what suppresses notifications at a moment is not changed by what people do later", async () => {
  const store = {
    silences: { open: () => Promise.resolve([]) },
    acknowledgements: { ofOpenIncidents: () => Promise.resolve([]) },
  };
  const suppressions = await restoreSuppressions(store, [], startMs);
  const before = suppressions.at(startMs);
  const times = { startsAtMs: startMs, endsAtMs: startMs + 60_000 };
  const people = { author: "ada", reason: "an upgrade" };
  suppressions.addSilence({ id: "s", match: { key: ["a"] }, ...people, ...times }, startMs);
  suppressions.acknowledge({ incidentId: "i", author: "ada", note: null, atMs: startMs });
  const after = suppressions.at(startMs);
  await suppressions.prune();
  expect(before).toMatchObject({ silenced: [], acknowledgedBy: new Map() });
  expect(after).toMatchObject({
    silenced: [{ key: ["a"] }],
    acknowledgedBy: new Map([["i", "ada"]]),
  });
  expect(suppressions.at(startMs).acknowledgedBy.size).toBe(0);
});
