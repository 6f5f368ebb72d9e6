import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { OutboxItem, NotifiedIncident } from "../../src/alerts/notification.ts";
import { isBlank } from "../../src/fleet/readable.ts";
import {
  fillTemplate,
  fillUrlTemplate,
  placeholders,
  placeholdersIn,
} from "../../src/alerts/template.ts";
import { outboxItem } from "../notify/support/items.ts";

/** One item for each server name. */
function named(...names: readonly (string | null)[]): readonly OutboxItem[] {
  return names.map((serverName, n) => outboxItem({ incident: { id: `i${n}`, serverName } }));
}

const hostile = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.constantFrom(
    "{key}",
    "{server_name}",
    "$&",
    "$1",
    "../../x",
    "?a=b&c#d",
    "\ud800",
    "\n\u202e",
  ),
);

describe("a filled text", () => {
  it("has a value for every placeholder there is", () => {
    const template = placeholders.map((each) => `{${each}}`).join("|");
    const [item] = [outboxItem({ incident: { sandboxId: "box", serverId: "a", probe: "login" } })];
    expect(fillTemplate(template, item ? [item] : [])).toBe(
      "1|server-error|critical|in error|us|research|box|a|github|login|error|occupied",
    );
  });

  it("has nothing for what the subject lacks", () => {
    const bare: Partial<NotifiedIncident> = { subject: "target", serverName: null, status: null };
    const item = outboxItem({ incident: { ...bare, sandboxId: null, serverId: null } });
    expect(fillTemplate("[{server_name}{sandbox_id}{server_id}{status}]", [item])).toBe("[]");
  });

  it.each([
    ["one value once", ["git", "git"], "git"],
    ["three values", ["git", "slack", "jira"], "git, slack, jira"],
    ["more values counted", ["a", "b", "c", "d", "e", "a"], "a, b, c and 2 more"],
  ])("names %s", (_, names, text) => {
    expect(fillTemplate("{server_name}", named(...names))).toBe(text);
  });

  it("counts the incidents, not their values", () => {
    expect(fillTemplate("{count} of {server_name}", named("git", "git"))).toBe("2 of git");
  });

  it("leaves alone what is no placeholder", () => {
    const text = "{} {unheard_of} { count } {{count}} {";
    expect(fillTemplate(text, named("git"))).toBe("{} {unheard_of} { count } {1} {");
    expect(placeholdersIn(text)).toEqual(["", "unheard_of", " count ", "count"]);
  });

  it("takes names as they are: none is a placeholder or a pattern itself", () => {
    expect(fillTemplate("<{server_name}>", named("{key}"))).toBe("<{key}>");
    expect(fillTemplate("<{server_name}>", named("$&$1$`"))).toBe("<$&$1$`>");
  });

  it("keeps its own words, however long or unreadable a name is", () => {
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 9 }), (names) => {
        const text = fillTemplate("<{server_name}> is down", named(...names));
        expect(text).toMatch(/^<.*> is down$/u);
        expect(text).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
        expect(text.length).toBeLessThan(240);
      }),
    );
  });
});

describe("a filled address", () => {
  it("is one that receivers take, however long a name is", () => {
    const text = fillUrlTemplate("https://wiki/{server_name}", named("沙".repeat(5_000)));
    expect(text).toBe(`https://wiki/${encodeURIComponent("沙".repeat(100))}`);
  });

  it("has each value escaped, and where they differ the first one", () => {
    const items = named("cal.com/é ?&#", "git");
    expect(fillUrlTemplate("https://wiki/{server_name}?n={count}", items)).toBe(
      "https://wiki/cal.com%2F%C3%A9%20%3F%26%23?n=2",
    );
  });

  it("is an address of the same host, with nothing of a name but one escaped part", () => {
    fc.assert(
      fc.property(hostile, (name) => {
        const text = fillUrlTemplate("https://wiki.example.com/a?n={server_name}", named(name));
        const { host, pathname, searchParams } = new URL(text);
        expect([host, pathname]).toEqual(["wiki.example.com", "/a"]);
        const shown = isBlank(name) ? "i0" : name;
        expect(searchParams.get("n")).toBe(shown.slice(0, 100).toWellFormed());
        expect(text.length).toBeLessThan(1_000);
      }),
    );
  });
});
