import { expect, it, onTestFinished } from "vitest";
import { maxDistinctNames } from "../../src/fleet/tallies.ts";
import { readReportQuery } from "../../src/api/operations/occupancy.ts";
import { reportFields, type ReportField } from "../../src/reports/report-fields.ts";
import { storedSources } from "../../src/reports/report-sources.ts";
import { createStore } from "../../src/store/store.ts";
import { addTarget } from "../support/add-target.ts";
import { research, server, startMs, watchFleet } from "../support/fleet.ts";
import { recordHistory } from "../support/recorded-history.ts";
import { openFresh } from "../support/fresh-store.ts";
import { addUp, reportOf } from "./support/report.ts";

/** Two hours of two servers and their sandbox; after the first hour one of them has other tags. */
async function recorded(isRolledUp: boolean) {
  const { kysely, close } = openFresh();
  onTestFinished(close);
  const store = createStore(kysely, close);
  const { id } = await addTarget(store, research);
  const { poll } = watchFleet();
  const show = (tags: readonly string[], seconds: number) => {
    const servers = [
      server("a", { status: "occupied", benchmark: "swe", tags }),
      server("b", { status: "idle", benchmark: "swe" }),
    ];
    const box = { id: "box", status: "error", benchmark: "swe", createdAt: null, servers } as const;
    return store.commitPoll(id, poll({ complete: true, sandboxes: [box] }, seconds));
  };
  for (const seconds of [0, 1_800, 1_800]) await show(["x", "y"], seconds);
  for (const seconds of [1_800, 1_800]) await show(["z"], seconds);
  if (isRolledUp) while (await store.rollUp());
  return storedSources(store, [research]);
}

it.each([true, false])(
  "reports count servers under the tags and benchmark that they had, and sandboxes by themselves; rolled up: %s",
  async (isRolledUp) => {
    const sources = await recorded(isRolledUp);
    const iso = (ms: number): string => new Date(ms).toISOString();
    const range = { from: iso(startMs), to: iso(startMs + 7_200_000) };
    const hours = async (by: string, of: "servers" | "sandboxes" = "servers") => {
      const { rows } = await reportOf(sources, { ...range, by, of });
      return rows.map(({ group, ms }) =>
        [...Object.values(group), ...Object.values(ms).map((each) => each / 3_600_000)].join(" "),
      );
    };
    // The tags changed with the poll after half an hour more.
    expect(await hours("tag")).toEqual([" 2 0 0 0", "x 0 1.5 0 0", "y 0 1.5 0 0", "z 0 0.5 0 0"]);
    expect(await hours("benchmark")).toEqual(["swe 2 2 0 0"]);
    expect(await hours("benchmark", "sandboxes")).toEqual(["swe 0 0 2 0"]);
    expect(await hours("sandbox")).toEqual(["us research box 2 2 0 0"]);
    expect(await hours("sandbox", "sandboxes")).toEqual(["us research box 0 0 2 0"]);
    expect(await hours("month", "sandboxes")).toEqual(["2026-11 0 0 2 0"]);
    expect(await hours("week")).toEqual(["2026-11-16 2 2 0 0"]);
    expect(await hours("hour_of_day", "sandboxes")).toEqual([
      "09 0 0 0.5 0",
      "10 0 0 1 0",
      "11 0 0 0.5 0",
    ]);
  },
);

/** By one field: how many hours there are in all rows. */
async function hoursBy(field: ReportField, of: "servers" | "sandboxes"): Promise<number> {
  const [from = "", to = ""] = [0, 7_200_000].map((ms) => new Date(startMs + ms).toISOString());
  const { rows } = await reportOf(await recorded(true), { from, to, by: field, of });
  expect(rows.every(({ group }) => group[field] !== undefined)).toBe(true);
  const { idle = 0, occupied = 0, error = 0 } = addUp(rows);
  return (idle + occupied + error) / 3_600_000;
}

it.each(reportFields)("a report of servers by %s has all of their time", async (field) => {
  // A server has two tags for an hour and a half.
  expect(await hoursBy(field, "servers")).toBe(field === "tag" ? 5.5 : 4);
});

const ofServers: readonly ReportField[] = ["server_name", "tag", "server"];
const readOfSandboxes = (by: string) =>
  readReportQuery({ of: "sandboxes", from: "1h", by }, startMs).fields;

it.each(reportFields.filter((each) => !ofServers.includes(each)))(
  "a report of sandboxes by %s has all of their time",
  async (field) => {
    expect(readOfSandboxes(field)).toContain(field);
    expect(await hoursBy(field, "sandboxes")).toBe(2);
  },
);

it.each(ofServers)("a report of sandboxes by %s is refused", (field) => {
  expect(() => readOfSandboxes(field)).toThrow(`not ${field}`);
});

it("a report by name has each of more names than metrics distinguish, also across a restart", async () => {
  const history = recordHistory();
  const target = history.add(research);
  const names = Array.from({ length: maxDistinctNames + 5 }, (_, at) => `name-${at}`);
  const list = (order: readonly string[]) => {
    const servers = order.map((name) => ({ id: name, name, status: "occupied" as const }));
    return { kind: "all", servers } as const;
  };
  for (const minutes of [0, 30, 60]) target.poll(startMs + minutes * 60_000, list(names));
  target.restart();
  // Listed in another order, others are beyond the limit.
  for (const minutes of [90, 120])
    target.poll(startMs + minutes * 60_000, list(names.toReversed()));
  const iso = (ms: number): string => new Date(ms).toISOString();
  const range = { from: iso(startMs), to: iso(startMs + 7_200_000) };
  const { rows } = await reportOf(history, { ...range, by: "server_name" });
  expect(
    rows.map(({ group, ms, unobservedMs }) => [group.server_name, ms.occupied, unobservedMs]),
  ).toEqual(names.toSorted().map((name) => [name, 5_400_000, 1_800_000]));
});
