import { expect, it } from "vitest";
import { summarize } from "../../src/alerts/notification-summary.ts";
import { listing, watchFleet } from "../support/fleet.ts";

type Step = readonly [outcome: Parameters<typeof listing>[0] | "failed", seconds?: number];

/** The message about the end of what these polls observed. */
function resolvedAfter(...steps: readonly Step[]): string {
  const fleet = watchFleet();
  const outbox = steps.flatMap(([outcome, seconds = 30]) => {
    // As the runner does after it was held up.
    if (seconds > 60) fleet.watched.noteGap();
    const polled = outcome === "failed" ? "failed" : listing(outcome);
    return fleet.poll(polled, seconds).incidents.outbox;
  });
  const ended = outbox.filter(
    ({ type, rule }) => type === "incident.resolved" && rule === "server-error",
  );
  return summarize(ended, null);
}

const error = { a: "error" } as const;
const idle = { a: "idle" } as const;
const gone = {} as const;
const failed = Array.from({ length: 9 }, (): Step => ["failed"]);

it.each<readonly [said: string, steps: readonly Step[]]>([
  ["Resolved after 1 min: ", [[error], [error], [idle]]],
  // Polls failed meanwhile.
  ["Resolved after 0 s to 5 min: ", [[error], ...failed, [idle]]],
  ["Resolved after 30 s to 5 min: ", [[error], [error], ...failed.slice(1), [idle]]],
  // The monitor was held up.
  ["Resolved after 5 s to 5 min: ", [[error], [error, 5], [idle, 295]]],
  // It was observed again before it recovered.
  ["Resolved after 5 min: ", [[error], ...failed.slice(1), [error], [idle]]],
  // Gone, which complete listings show only after it was missing for a while.
  ["Resolved after up to 5 min: ", [[error], ...failed.slice(1), [gone], [gone]]],
  ["Resolved after up to 1 min: ", [[error], [gone], [gone]]],
  ["Resolved after up to 5 min: ", [[error], [gone], ...failed.slice(1), [gone]]],
  // Both bounds are the same in minutes.
  ["Resolved after 1h: ", [[error], [error, 3_600], ["failed"], [idle, 15]]],
])("a recovery that was not observed has bounds: %s", (said, steps) => {
  expect(resolvedAfter(...steps).slice(0, said.length)).toBe(said);
});

it("several that ended within the same time are said to have", () => {
  const both = { a: "error", b: "error" } as const;
  const said = resolvedAfter([both], ...failed, [{ a: "idle", b: "idle" }]);
  expect(said).toMatch(/^Resolved after 0 s to 5 min: 2 /);
});
