import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  holdsForServer,
  matchesAny,
  matchesTarget,
  ruleFingerprint,
} from "../../src/alerts/rule.ts";
import type { ListedServer } from "../../src/fleet/snapshot.ts";
import type { ServerRule, TargetRule } from "../../src/alerts/rule.ts";
import { inPolls, lasting, serverRule, targetRule } from "./support/samples.ts";

const row: ListedServer = {
  id: "a",
  name: "github",
  benchmark: "MCP_Atlas",
  tags: ["prod", "blue"],
  status: "error",
};

describe("patterns", () => {
  it.each([
    ["github", "github", true],
    ["github", "githubs", false],
    ["git*", "github", true],
    ["git*", "git", true],
    ["*hub", "github", true],
    ["g*t*b", "github", true],
    ["a*a", "a", false],
    ["ab*ba", "aba", false],
    ["*", "", true],
    ["", "", true],
    ["", "a", false],
    ["**", "anything", true],
    ["cal.com", "calxcom", false],
    ["a*", "a\nb", true],
    ["GitHub", "github", false],
  ])("%j on %j: %s", (pattern, text, fits) => {
    expect(matchesAny([pattern], text)).toBe(fits);
  });

  it("fit exactly what the regular expression of the same meaning fits", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "*"), maxLength: 6 });
    fc.assert(
      fc.property(pattern, text, (wild, subject) => {
        const source = wild.replaceAll(".", "\\.").replaceAll("*", ".*");
        expect(matchesAny([wild], subject)).toBe(new RegExp(`^${source}$`, "s").test(subject));
      }),
      { numRuns: 1_000 },
    );
  });

  it("left out allow all, one of several is enough, none at all allows nothing", () => {
    expect(matchesAny(undefined, "github")).toBe(true);
    expect(matchesAny(["git", "github"], "github")).toBe(true);
    expect(matchesAny([], "github")).toBe(false);
  });
});

describe("what a rule is about", () => {
  it("is a target when both region and key fit", () => {
    const target = { region: "us", key: "research" };
    expect(matchesTarget({}, target)).toBe(true);
    expect(matchesTarget({ region: ["us"], key: ["res*"] }, target)).toBe(true);
    expect(matchesTarget({ region: ["eu"] }, target)).toBe(false);
    expect(matchesTarget({ region: ["us"], key: ["ops"] }, target)).toBe(false);
  });

  it.each([
    [{}, true],
    [{ serverName: ["git*"] }, true],
    [{ serverName: ["git"] }, false],
    [{ benchmark: ["MCP_*"] }, true],
    [{ benchmark: ["Toolathlon"] }, false],
    [{ tag: ["blue"] }, true],
    [{ tag: ["green"] }, false],
    [{ tag: ["blue"], serverName: ["git"] }, false],
  ])("match %j holds for the server: %s", (match, holds) => {
    expect(holdsForServer(serverRule({ match }), row)).toBe(holds);
  });

  it("is no server in another status", () => {
    expect(holdsForServer(serverRule({ status: "occupied" }), row)).toBe(false);
  });

  it("takes a missing name or benchmark for an empty text, and no tags for no tag", () => {
    const bare = { ...row, name: null, benchmark: null, tags: [] };
    expect(holdsForServer(serverRule({ match: { serverName: [""] } }), bare)).toBe(true);
    expect(holdsForServer(serverRule({ match: { benchmark: ["?"] } }), bare)).toBe(false);
    expect(holdsForServer(serverRule({ match: { tag: ["*"] } }), bare)).toBe(false);
  });
});

describe("a rule's fingerprint", () => {
  const same: readonly Partial<ServerRule>[] = [
    {},
    { receivers: ["other"] },
    { severity: "info" },
    { remindEveryMs: 1 },
  ];
  const other: readonly Partial<ServerRule>[] = [
    { name: "another" },
    { status: "unknown" },
    { for: lasting(1) },
    { for: inPolls(1) },
    { keepFiringForMs: 1 },
    { match: { region: ["us"] } },
    { match: { key: ["us"] } },
    { match: { serverName: ["us"] } },
    { match: { benchmark: ["us"] } },
    { match: { tag: ["us"] } },
    { match: { tag: [] } },
  ];
  const otherTarget: readonly Partial<TargetRule>[] = [
    { name: "another" },
    { for: inPolls(4) },
    { for: lasting(3) },
    { trouble: "auth" },
    { keepFiringForMs: 1 },
    { match: { region: ["us"] } },
  ];

  it.each(same)("stays when only %j is edited", (edit) => {
    expect(ruleFingerprint(serverRule(edit))).toBe(ruleFingerprint(serverRule()));
  });

  it.each(other)("changes when %j is edited", (edit) => {
    expect(ruleFingerprint(serverRule(edit))).not.toBe(ruleFingerprint(serverRule()));
  });

  it.each(otherTarget)("of a target rule changes when %j is edited", (edit) => {
    expect(ruleFingerprint(targetRule(edit))).not.toBe(ruleFingerprint(targetRule()));
  });

  it("differs between all of these", () => {
    const rules = [serverRule(), ...other.map(serverRule), ...otherTarget.map(targetRule)];
    expect(new Set(rules.map(ruleFingerprint)).size).toBe(rules.length);
  });

  it("does not mind the order in which names are listed", () => {
    const [one, two] = [
      ["a", "b"],
      ["b", "a"],
    ].map((tag) => serverRule({ match: { tag } }));
    expect(one && ruleFingerprint(one)).toBe(two && ruleFingerprint(two));
  });
});
