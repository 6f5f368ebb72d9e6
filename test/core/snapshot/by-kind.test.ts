import { describe, expect, it } from "vitest";
import { ByKind } from "../../../src/core/snapshot/by-kind.ts";
import { kindOf } from "../../../src/core/snapshot/server-kind.ts";
import type { ServerKind } from "../../../src/core/snapshot/server-kind.ts";

const kinds = ["github", "slack", "github"].map((serverName, index) =>
  kindOf({ serverName, benchmark: index === 2 ? "MCP_Atlas" : null, tags: [] }),
);
const legend = { texts: [""], kinds };

function countingNames() {
  const asked: ServerKind[] = [];
  const names = new ByKind((kind) => {
    asked.push(kind);
    return kind.serverName ?? "none";
  });
  return { asked, names };
}

describe("what servers of a kind have in common", () => {
  it("is looked up once for each kind of a page", () => {
    const { asked, names } = countingNames();
    const found = [0, 1, 0, 2, 1].map((number) => names.ofNumber(legend, number));
    expect(found).toEqual(["github", "slack", "github", "github", "slack"]);
    expect(asked).toEqual([kinds[0], kinds[1], kinds[2]]);
  });

  it("is looked up anew where another page has other kinds by the same numbers", () => {
    const { names } = countingNames();
    const other = { texts: [""], kinds: kinds.slice(1) };
    const found = [legend, other, legend].map((each) => names.ofNumber(each, 0));
    expect(found).toEqual(["github", "slack", "github"]);
  });

  it("is looked up once for all pages that have it, by whatever number", () => {
    const { asked, names } = countingNames();
    const other = { texts: [""], kinds: kinds.toReversed() };
    const found = [legend, other, legend].map((each) => names.ofNumber(each, 0));
    expect(found).toEqual(["github", "github", "github"]);
    expect(asked).toEqual([kinds[0], kinds[2]]);
  });

  it("is looked up anew where there were very many kinds since, of which most are kept", () => {
    const { asked, names } = countingNames();
    const many = Array.from({ length: 1_025 }, (_, index) =>
      kindOf({ serverName: `server-${index}`, benchmark: null, tags: [] }),
    );
    const ask = (kind: ServerKind | undefined): string =>
      names.ofNumber({ texts: [""], kinds: kind ? [kind] : [] }, 0);
    many.slice(0, 1_024).forEach(ask);
    expect(ask(many[0])).toBe("server-0");
    expect(asked).toHaveLength(1_024);
    expect(ask(many[1_024])).toBe("server-1024");
    expect(ask(many[0])).toBe("server-0");
    expect(asked).toHaveLength(1_026);
  });

  it("is looked up anew once it was forgotten", () => {
    const { asked, names } = countingNames();
    names.ofNumber(legend, 0);
    names.forget();
    names.ofNumber(legend, 0);
    expect(asked).toEqual([kinds[0], kinds[0]]);
  });

  it("is that of no kind in particular by a number that a page does not have, and takes no room", () => {
    const { asked, names } = countingNames();
    const found = [2 ** 24 - 1, 3, 2 ** 24 - 2].map((number) => names.ofNumber(legend, number));
    expect(found).toEqual(["none", "none", "none"]);
    expect(asked).toHaveLength(1);
  });
});
