import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { OutboxItem } from "../../src/alerts/notification.ts";
import {
  fillTemplate,
  fillUrlTemplate,
  placeholders,
  placeholdersIn,
} from "../../src/alerts/template.ts";
import { isBlank } from "../../src/fleet/text.ts";
import { outboxItem } from "../notify/support/items.ts";

/** One item for each server name. */
const named = (...names: readonly (string | null)[]): readonly OutboxItem[] =>
  names.map((serverName, n) => outboxItem({ incident: { id: `i${n}`, serverName } }));

const hostile = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.constantFrom("{key}", "$&", "$1", "../../x", "?a=b&c#d", "\ud800", "\n\u202e"),
);

describe("a rule's template", () => {
  it("has a value for every placeholder", () => {
    const whole = placeholders.map((each) => `{${each}}`).join("|");
    const incident = { sandboxId: "box", serverId: "a", benchmark: "MCP_Atlas", probe: "login" };
    expect(fillTemplate(whole, [outboxItem({ incident })])).toBe(
      "1|server-error|critical|in error|us|research|box|a|github|MCP_Atlas|login|error|occupied",
    );
    const ofTarget = outboxItem({
      incident: { sandboxId: null, serverId: null, serverName: null, status: null },
    });
    expect(fillTemplate("[{server_name}{sandbox_id}{status}]", [ofTarget])).toBe("[]");
  });

  it.each([
    ["{server_name}", ["git", "git"], "git"],
    ["{server_name}", ["git", "slack", "jira"], "git, slack, jira"],
    ["{server_name}", ["a", "b", "c", "d", "e", "a"], "a, b, c and 2 more"],
    ["{count} of {server_name}", ["git", "git"], "2 of git"],
    ["{} {unheard_of} { count } {{count}} {", ["git"], "{} {unheard_of} { count } {1} {"],
    ["{constructor}", ["git"], "{constructor}"],
    ["<{server_name}>", ["{key}"], "<{key}>"],
    ["<{server_name}>", ["$&$1$`"], "<$&$1$`>"],
  ])("%j is filled with %j: %j", (template, names, text) => {
    expect(fillTemplate(template, named(...names))).toBe(text);
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

  it("of an address has the first value, escaped and cut", () => {
    const address = "https://wiki/{server_name}?n={count}";
    expect(fillUrlTemplate(address, named("cal.com/é ?&#", "git"))).toBe(
      "https://wiki/cal.com%2F%C3%A9%20%3F%26%23?n=2",
    );
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

it.each([
  ["no placeholder {", []],
  ["}{", []],
  ["{ summary }", [" summary "]],
  ["{{summary}}{}", ["summary", ""]],
])("the placeholders in %j are %j", (text, names) => {
  expect(placeholdersIn(text)).toEqual(names);
});
