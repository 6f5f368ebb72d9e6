import { describe, expect, it } from "vitest";
import { firstOf } from "../../src/lib/iterables.ts";
import { openReport } from "../../src/reports/open-report.ts";
import { utc } from "../../src/reports/zone.ts";
import { collect } from "../support/collect.ts";
import { recordHistory } from "../support/recorded-history.ts";
import { occupied, research, watch } from "./support/polls-alike.ts";
import { fieldsOf } from "./support/report.ts";

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
      changes: {
        ...history.changes,
        between(query: Parameters<typeof history.changes.between>[0]) {
          const { sandboxes } = query;
          read.push(`${sandboxes?.target.region} ${sandboxes?.first}`);
          return history.changes.between(query);
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
});
