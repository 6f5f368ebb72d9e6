import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lookOf, type Look } from "../../src/cli/look.ts";
import {
  createGrowingTable,
  renderTable,
  textWidth,
  wrapText,
  type Columns,
} from "../../src/cli/table.ts";
import { createFakeClock } from "../support/fake-clock.ts";

interface Item {
  readonly at: string;
  readonly id: string;
  readonly name: string;
  readonly note: string | null;
}

const uuid = "3f2a0c1e-5b7d-4e0a-9c55-2d1f7a6b8c90";
const item: Item = { at: "2026-11-26T04:00:00.000Z", id: uuid, name: "github", note: null };

const columns: Columns<Item> = {
  at: ({ at }, { timeText }) => timeText(at),
  id: "id",
  name: ({ name }) => ({ text: name, color: "red" }),
  note: "note",
};

function lookAt(columnsOfScreen: number | undefined, isColored = false, isExact = false): Look {
  const clock = createFakeClock(Date.parse(item.at) + 720_000);
  const terminal = { out() {}, err() {}, isInteractive: true, columns: columnsOfScreen };
  return lookOf({ ...terminal, isColored, clock }, isExact);
}

describe("a table", () => {
  it("is whole where the width is not known, however long a value is", () => {
    const name = "a".repeat(10_000);
    expect(renderTable([{ ...item, name }], columns, lookAt(undefined))).toBe(
      `at          id${" ".repeat(36)}name${" ".repeat(9_998)}note\n12 min ago  ${uuid}  ${name}\n`,
    );
  });

  it("on a screen omits empty columns, shortens UUIDs, and then cuts the widest columns", () => {
    const rows = [item, { ...item, name: "one two three four five six" }];
    expect(renderTable(rows, columns, lookAt(60))).toBe(
      `at          id        name
12 min ago  3f2a0c1e  github
12 min ago  3f2a0c1e  one two three four five six
`,
    );
    expect(renderTable(rows, columns, lookAt(40))).toContain("3f2a0c1e  one two three fou…\n");
    expect(renderTable(rows, columns, lookAt(30))).toContain("12 min a…  3f2a0c1e  one two …\n");
  });

  it("goes without the columns that say least before it cuts another one", () => {
    const servers = [
      {
        status: "occupied (unobserved)",
        region: "us-east",
        key: "production",
        name: "filesystem",
        server: uuid,
        sandbox: uuid,
      },
    ];
    const all: Columns<(typeof servers)[number]> = {
      status: "status",
      region: "region",
      key: "key",
      name: "name",
      server: "server",
      sandbox: "sandbox",
    };
    const [head, row] = renderTable(servers, all, lookAt(70)).split("\n");
    expect(head).toMatch(/^status +region +key +name +server$/);
    expect(row).toBe("occupied (unobserved)  us-east  production  filesystem  3f2a0c1e");
    expect(renderTable(servers, all, lookAt(80)).split("\n")[0]).toContain("sandbox");
    const { server: _, ...alone } = all;
    expect(renderTable(servers, alone, lookAt(50)).split("\n")[0]).toContain("sandbox");
    for (const width of [50, 60]) {
      const lines = renderTable(servers, all, lookAt(width)).trimEnd().split("\n");
      expect(lines[1]).toContain("3f2a0c1e");
    }
  });

  it("ends the lines of a sentence between words, in colour or not", () => {
    const { paint } = lookAt(20, true);
    const text = `${paint("red", "3 incidents are firing.")} Last poll: 2 s ago.`;
    expect(stripVTControlCharacters(wrapText(text, 20))).toBe(
      "3 incidents are\nfiring. Last poll: 2\ns ago.",
    );
    expect(wrapText("a word", undefined)).toBe("a word");
  });

  it("does not cut exact times, which somebody asked for", () => {
    const text = renderTable([item], columns, lookAt(42, false, true));
    expect(text).toContain(`${item.at}  3f2a0c1e  github\n`);
    const narrow = renderTable(
      [{ ...item, name: "a".repeat(30) }],
      columns,
      lookAt(44, false, true),
    );
    expect(narrow).toContain(`${item.at}  3f2a0c1e  aaaaaaa…\n`);
  });

  it("has no line that is wider than the screen, in colour or not, and no character that is obeyed", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 60 }),
      fc.constantFrom("\u001b[31m", "漢字漢字漢字", uuid, "e\u0301".repeat(20), ""),
    );
    const items = fc.array(
      fc.record({ at: fc.constant(item.at), id: text, name: text, note: text }),
    );
    fc.assert(
      fc.property(
        items,
        fc.integer({ min: 1, max: 90 }),
        fc.boolean(),
        (rows, width, isColored) => {
          const look = lookAt(width, isColored);
          const rendered = renderTable(rows, columns, look);
          const plain = stripVTControlCharacters(rendered);
          const lines = plain.split("\n").slice(0, -1);
          expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(width);
          expect(plain).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\u2028]/u);
          expect(plain).toBe(renderTable(rows, columns, lookAt(width)));
        },
      ),
    );
  });

  it("grows: later rows stand below the first ones", () => {
    const table = createGrowingTable(columns, lookAt(40));
    table([{ ...item, name: "one two three four five six" }]);
    const [line = ""] = table([item]).split("\n");
    expect(line).toBe("12 min ago  3f2a0c1e  github");
  });
});
