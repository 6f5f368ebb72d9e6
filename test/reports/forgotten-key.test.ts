import { expect, it } from "vitest";
import { recordHistory } from "../support/recorded-history.ts";
import { idle, occupied, research, watch } from "./support/polls-alike.ts";
import { reportOf } from "./support/report.ts";

const production = { region: "us", key: "production" };
const day = { from: "2026-11-01T00:00Z", to: "2026-11-02T00:00Z" };

it.each([
  ["entirely", true],
  ["in part", false],
])(
  "a report across a key that was forgotten %s is that of the other keys",
  async (_, isComplete) => {
    const history = recordHistory();
    watch(history.add(research), day, [occupied, { ...idle, name: "jira" }]);
    const other = history.add(production);
    watch(other, day, [occupied]);
    // Hours that are rolled up, and changes that are left.
    other.prune("changes", Date.parse("2026-11-01T12:00Z"));
    const { rows: both } = await reportOf(history, { ...day, by: "key" });
    expect(both.map(({ group }) => group.key)).toEqual(["production", "research"]);
    const reportsBy = (filter: object) =>
      Promise.all(
        ["key", "server_name", "server", "hour", ""].map(async (by) => {
          const { report, rows } = await reportOf(history, { ...day, by, filter });
          return { rows, notes: report.notes };
        }),
      );
    const ofOthers = await reportsBy({ key: ["production"] });

    history.forget("research", isComplete);
    const { rows: left } = await reportOf(history, { ...day, by: "key" });
    expect(left.map(({ group }) => group.key)).toEqual(["production"]);
    expect(await reportsBy({})).toEqual(ofOthers);
  },
);
