import { expect, it } from "vitest";
import { entryText } from "../../src/notify/receivers/chat-message.ts";
import { incidentOf, startMs } from "./support/items.ts";

const dayMs = 86_400_000;
const incident = incidentOf();

it.each([
  ["in us/research since", true],
  ["in us/research: 2 github", true],
  ["in us/research", true],
  ["in us/research-2 since", false],
  ["in us since", false],
  ["of research", false],
])("a line of a message whose summary says %j has the place of it: not %s", (summary, isSaid) => {
  const line = entryText(incident, { summary: `1 server ${summary}`, causedAtMs: startMs });
  expect(line.includes(" in us/research")).toBe(!isSaid);
});

it("a line of a message of another day has the date", () => {
  const said = { summary: "1 server in us/research" };
  const times = (causedAtMs: number, more = {}) =>
    entryText({ ...incident, ...more }, { ...said, causedAtMs }).replace(/^.*; /, "");
  expect(times(startMs)).toBe("since 09:30:00 UTC");
  expect(times(startMs + dayMs)).toBe("since 2026-11-20 09:30:00 UTC");
  const over = { resolvedAtMs: startMs + dayMs, resolvedReason: "recovered" };
  expect(times(startMs + dayMs, over)).toBe(
    "from 2026-11-20 09:30:00 UTC to 2026-11-21 09:30:00 UTC",
  );
});
