import { describe, expect, it } from "vitest";
import { cellsOf } from "../../src/reports/calendar-cells.ts";
import { openZone, toLocal, utc } from "../../src/reports/zone.ts";
import { recordHistory } from "../support/recorded-history.ts";
import { research } from "../support/fleet.ts";
import { reportOf } from "./support/report.ts";

const hourMs = 3_600_000;

/** Zones that are not whole hours from UTC, and days around those on which their clocks are set, if they are. */
const places = [
  ["Asia/Kolkata", "2026-11-02", "2026-11-05"],
  ["Asia/Kathmandu", "2026-11-02", "2026-11-05"],
  ["Australia/Eucla", "2026-11-02", "2026-11-05"],
  ["America/St_Johns", "2026-10-31", "2026-11-03"],
  ["America/St_Johns", "2026-03-07", "2026-03-10"],
  // Clocks are set by half an hour.
  ["Australia/Lord_Howe", "2026-04-04", "2026-04-07"],
  ["Australia/Lord_Howe", "2026-10-03", "2026-10-06"],
] as const;

/** A server that is occupied from 9 to 17 o'clock on the zone's clocks. Its changes are deleted after they were rolled up. */
function officeHours(tz: string, days: { readonly from: string; readonly to: string }) {
  const zone = openZone(tz) ?? utc;
  const begin = (day: string): number => {
    const midnight = Date.parse(`${day}Z`);
    return midnight - zone.offsetMs(midnight);
  };
  const range = { fromMs: begin(days.from), toMs: begin(days.to) };
  const hours = [...cellsOf(range, ["hour"], zone)];
  const isOpen = (atMs: number): boolean => {
    const hour = new Date(toLocal(zone, atMs)).getUTCHours();
    return hour >= 9 && hour < 17;
  };
  const record = (isByQuarter: boolean, isPruned: boolean) => {
    const history = recordHistory({ isByQuarter });
    const target = history.add(research);
    for (const { fromMs } of [...hours, { fromMs: range.toMs }, { fromMs: range.toMs + hourMs }]) {
      const status = isOpen(fromMs) ? "occupied" : "idle";
      target.poll(fromMs, { kind: "all", servers: [{ id: "a", status }] });
    }
    if (isPruned) target.prune("changes", range.toMs + hourMs);
    const iso = (ms: number): string => new Date(ms).toISOString();
    const asked = { from: iso(range.fromMs), to: iso(range.toMs), tz };
    return async (by: string) => {
      const { report, rows } = await reportOf(history, { ...asked, by });
      const lines = rows.map(({ group, ms, unobservedMs }) =>
        [...Object.values(group), ms.idle, ms.occupied, unobservedMs].join(" "),
      );
      // Incidents are not kept for longer than changes.
      return { lines, notes: report.notes.filter((note) => !note.startsWith("Incidents")) };
    };
  };
  return { record, hours };
}

describe.each(places)("in %s, from %s to %s", (tz, from, to) => {
  const { record, hours } = officeHours(tz, { from, to });

  it("hours and days are those of its clocks, from quarters of an hour where changes are deleted", async () => {
    const [fromChanges, fromQuarters] = [record(false, false), record(true, true)];
    for (const by of ["hour", "day", "weekday", "hour_of_day", "month", ""]) {
      const found = await fromQuarters(by);
      expect(found).toEqual(await fromChanges(by));
      expect(found.notes).toEqual([]);
    }
    const { lines } = await fromQuarters("hour");
    const expected = hours.map(({ fromMs, toMs, labels: { hour = "" } }) => {
      const isOpen = hour.slice(11, 13) >= "09" && hour.slice(11, 13) < "17";
      const ms = toMs - fromMs;
      return [hour, isOpen ? 0 : ms, isOpen ? ms : 0, 0].join(" ");
    });
    expect(lines).toEqual(expected);
    const { lines: days } = await fromQuarters("day");
    expect(days.map((line) => Number(line.split(" ")[2]))).toEqual(Array(3).fill(8 * hourMs));
  });
});

it("without quarters and changes, a note says that the hours are not those of its clocks", async () => {
  const days = { from: "2026-11-02", to: "2026-11-03" };
  const { notes } = await officeHours("Asia/Kolkata", days).record(false, true)("hour");
  expect(notes).toContainEqual(
    expect.stringContaining("does not start with the hours of Asia/Kolkata"),
  );
});
