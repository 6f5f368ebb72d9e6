import { describe, expect, it } from "vitest";
import { readReportQuery } from "../../src/api/operations/occupancy.ts";
import { firstOf } from "../../src/lib/iterables.ts";
import { openReport } from "../../src/reports/open-report.ts";
import { utc } from "../../src/reports/zone.ts";
import { collect } from "../support/collect.ts";
import { recordHistory } from "../support/recorded-history.ts";
import { occupied, research, watch } from "./support/polls-alike.ts";
import { fieldsOf, reportOf } from "./support/report.ts";

const inEu = { region: "eu", key: "research" };

describe("a report of servers", () => {
  it("goes on behind any row, and reads only sandboxes from there on", async () => {
    const history = recordHistory();
    const boxes = Array.from({ length: 30 }, (_, box) => ({
      ...occupied,
      id: `${box}`,
      sandbox: `box-${String(box).padStart(2, "0")}`,
    }));
    const second = { ...occupied, id: "x", sandbox: "box-07" };
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-01T01:00Z" };
    for (const target of [research, inEu, { region: "eu-2", key: "a" }]) {
      watch(history.add(target), range, [...boxes, second]);
    }
    const read: string[] = [];
    const sources = {
      ...history,
      occupancy: {
        ...history.occupancy,
        async open() {
          const opened = await history.occupancy.open();
          const units: typeof opened.units = (target, query) => {
            read.push(`${target.region} ${query.first}`);
            return opened.units(target, query);
          };
          return { ...opened, units };
        },
      },
    };
    const query = {
      of: "servers" as const,
      range: { fromMs: Date.parse(range.from), toMs: Date.parse(range.to) },
      fields: fieldsOf("server"),
      zone: utc,
      filter: {},
      nowMs: Date.parse(range.to),
    };
    const whole = await collect((await openReport({ ...query, after: null }, sources)).rows);
    expect(whole).toHaveLength(3 * 31);
    expect(whole.map(({ row }) => row.group.region)).toEqual(
      ["eu", "eu-2", "us"].flatMap((region) => Array(31).fill(region)),
    );
    for (const [index, { position }] of whole.entries()) {
      const { rows } = await openReport({ ...query, after: position }, sources);
      read.length = 0;
      const [next] = await firstOf(rows, 1);
      expect(next).toEqual(whole[index + 1]);
      const { region, sandboxId } = position.sandbox ?? {};
      expect(read.filter((each) => each < `${region} ${sandboxId}`)).toEqual([]);
      expect(new Set(read).size).toBeLessThan(3);
    }
  });

  it("of which too much would have to be read is refused, and says what to ask for", async () => {
    const history = recordHistory();
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-01T01:00Z" };
    watch(history.add(research), range);
    watch(history.add(inEu), range);
    const [fromMs, toMs] = [Date.parse(range.from), Date.parse(range.to)];
    const { hasMoreChanges } = await history.occupancy.open({ region: ["eu"] });
    // Two servers and their sandbox appeared with the first poll.
    expect(await hasMoreChanges({ fromMs, toMs }, 2)).toBe(true);
    expect(await hasMoreChanges({ fromMs, toMs }, 3)).toBe(false);
    expect(await hasMoreChanges({ fromMs: fromMs + 1, toMs }, 0)).toBe(false);
    expect(await hasMoreChanges({ fromMs: -Infinity, toMs: Infinity }, 1)).toBe(true);
    const many = {
      ...history,
      occupancy: {
        ...history.occupancy,
        open: async () => ({
          ...(await history.occupancy.open()),
          hasMoreChanges: async () => true,
        }),
      },
    };
    await expect(reportOf(many, { ...range, by: "sandbox" })).rejects.toThrow(
      /1,000,000 changes.*Ask for a shorter range/,
    );
    expect((await reportOf(many, { ...range, by: "server_name" })).rows).toHaveLength(1);
  });
});

describe.each(["server", "sandbox"])("a report by %s", (by) => {
  const watched = { from: "2026-10-24T22:00Z", to: "2026-10-25T23:00Z" };
  const now = "2026-10-26T12:00Z";

  it("of a time before the first observation has no rows, and of one to come is refused", async () => {
    const history = recordHistory();
    watch(history.add(research), watched);
    const before = { from: "2026-10-20T00:00Z", to: "2026-10-21T00:00Z", by, now };
    expect((await reportOf(history, before)).rows).toEqual([]);
    const early = await reportOf(history, { ...before, to: "2026-10-24T22:30Z" });
    expect(early.rows.map(({ ms }) => ms.occupied + ms.idle)).toEqual(
      by === "server" ? [1_800_000, 1_800_000] : [3_600_000],
    );
    const toCome = reportOf(history, {
      ...before,
      from: "2026-11-01T00:00Z",
      to: "2026-11-02T00:00Z",
    });
    await expect(toCome).rejects.toThrow("The range has not begun yet.");
  });

  it("of a day on which clocks are set back has its 25 hours", async () => {
    const history = recordHistory();
    watch(history.add(research), watched, [occupied]);
    const request = { from: "2026-10-25", to: "2026-10-26", tz: "Europe/Berlin", by };
    const query = readReportQuery(request, Date.parse(now));
    const { rows } = await openReport(query, history);
    const found = await collect(rows);
    expect(found.map(({ row }) => row.ms.occupied / 3_600_000)).toEqual([25]);
    expect(() => readReportQuery({ ...request, tz: "Mars/Olympus" }, Date.parse(now))).toThrow(
      "tz",
    );
  });

  it("begins when changes are kept, and says so", async () => {
    const history = recordHistory();
    const target = history.add(research);
    watch(target, watched, [occupied]);
    target.prune("changes", Date.parse("2026-10-25T10:00Z"));
    const { report, rows } = await reportOf(history, { ...watched, by, now });
    expect(rows.map(({ ms }) => ms.occupied / 3_600_000)).toEqual([13]);
    expect(report.notes[0]).toBe(
      "Changes are kept since 2026-10-25T10:00Z: the report starts then.",
    );
    const before = { ...watched, to: "2026-10-25T09:00Z" };
    const ofNothing = await reportOf(history, { ...before, by, now });
    expect([ofNothing.rows, ofNothing.report.notes[0]]).toEqual([
      [],
      "Changes are kept since 2026-10-25T10:00Z: nothing is known of single servers and sandboxes before.",
    ]);
  });
});

it("a report of sandboxes is by sandbox, and not by what only servers have", () => {
  const query = (by: string) => readReportQuery({ of: "sandboxes", from: "1h", by }, 7_200_000);
  expect(query("sandbox").fields).toEqual(["region", "key", "sandbox"]);
  for (const by of ["server", "server_name", "tag"]) {
    expect(() => query(by)).toThrow(`not ${by}`);
  }
});
