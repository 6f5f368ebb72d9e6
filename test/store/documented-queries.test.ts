import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { addTarget } from "../support/add-target.ts";
import { judgeBy, listing, research, serverError, startMs, watchFleet } from "../support/fleet.ts";
import { freshStoreFile } from "../support/fresh-store.ts";

const text = readFileSync(join(import.meta.dirname, "../../docs/history.md"), "utf8");
const section = text.split("\n## ").find((each) => each.startsWith("Query it yourself")) ?? "";

/** The statements of the section's examples, by the sentence before each. */
const examples = new Map(
  Array.from(
    section.matchAll(/^(.+):\n\n```sh\nsqlite3 -\w+ \S+ "([^"]+)"\n```$/gm),
    ([, what = "", statement = ""]) => [what, statement],
  ),
);

const hourMs = 3_600_000;

/** A store of a day: half an hour idle, half an hour occupied, in error, and again. `startMs` is the day's 9:30. */
async function storedDay(): Promise<string> {
  const path = freshStoreFile();
  const store = openStore(path, undefined, { isTemporary: true });
  const { id } = await addTarget(store, research);
  const { poll } = watchFleet(research, { judge: judgeBy([serverError]) });
  for (const [a, seconds] of [
    ["idle", 0],
    ["occupied", 1_800],
    ["error", 1_800],
    ["idle", 1_800],
  ] as const) {
    await store.commitPoll(id, poll(listing({ a, b: "idle" }), seconds));
  }
  // What is asked for is of a day that is over.
  await store.commitPoll(id, poll(listing({ a: "idle", b: "idle" }), 86_400));
  await store.commitPoll(id, poll("failed", 86_400));
  while (await store.rollUp());
  await store.close();
  return path;
}

function rowsOf(path: string, what: string): readonly object[] {
  const statement = examples.get(what);
  if (statement === undefined) throw new Error(`docs/history.md has no example "${what}"`);
  using database = new DatabaseSync(path, { readOnly: true });
  // As if the day after the stored one were today.
  const atNoon = new Date(startMs + 24 * hourMs).toISOString();
  const today = statement.replaceAll("'now'", `'${atNoon}'`);
  return database
    .prepare(today)
    .all()
    .map((row) => ({ ...row }));
}

it("each documented query answers what it says, of a real store", async () => {
  const path = await storedDay();
  expect(rowsOf(path, "Servers by status now")).toEqual([
    { region: "us", key: "research", status: "idle", count: 2 },
  ]);
  const changes = rowsOf(path, "What changed yesterday").map((row) => Object.values(row).join(" "));
  expect(changes).toEqual([
    "2026-11-20 09:30:00 us box a github absent idle",
    "2026-11-20 09:30:00 us box b github absent idle",
    "2026-11-20 10:00:00 us box a github idle occupied",
    "2026-11-20 10:30:00 us box a github occupied error",
    "2026-11-20 11:00:00 us box a github error idle",
  ]);
  expect(rowsOf(path, "Hours of servers by name yesterday")).toEqual([
    { name: "github", idle: 28, occupied: 0.5, error: 0.5, unobserved: 0 },
  ]);
  const incidents = rowsOf(path, "Incidents of the last seven days").map(Object.values);
  expect(incidents).toEqual([
    ["2026-11-20 10:30:00", "server-error", "critical", "resolved", "us", "a", 30],
  ]);
  const notified = "Incidents of the last seven days that the receiver `oncall` was notified of";
  expect(rowsOf(path, notified).map(Object.values)).toEqual([
    ["2026-11-20 10:30:00", "server-error", "critical", "resolved", "us", "a"],
  ]);
  expect([...examples.keys()]).toHaveLength(5);
});
