import { expect, it } from "vitest";
import { composeAcknowledged } from "../../src/alerts/acknowledgement.ts";
import { presentCondition } from "../../src/alerts/incident.ts";
import { summarize } from "../../src/alerts/notification-summary.ts";
import { research, startMs } from "../support/fleet.ts";
import { firing } from "../notify/support/notified-store.ts";

const at = (flapping: boolean, clearSinceMs: number | null) =>
  firing("a", {
    phase: {
      name: "firing",
      heldSince: { ms: 0, polls: 0 },
      notifiedAtMs: 0,
      flapping,
      clearSinceMs,
    },
  });

it.each([
  ["in error", at(false, null)],
  ["in error", at(true, null)],
  ["flapping, now not in error", at(true, 60_000)],
])("an incident is %s at present", (condition, incident) => {
  expect(presentCondition(incident)).toBe(condition);
});

it("an acknowledgement of what flaps and is well does not say that it is in error", () => {
  const receivers = new Map([["am", { sendResolved: true, sendAcknowledged: true }]]);
  const given = { incidentId: "a", author: "ann", note: null, atMs: startMs, endsAtMs: null };
  const items = composeAcknowledged([], receivers)(
    at(true, 60_000),
    { ...given, endedBy: null },
    research,
  );
  expect(summarize(items, startMs)).toBe(
    "Acknowledged by ann: 1 github server flapping, now not in error in us/research since 09:30 UTC",
  );
});
