import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  concernsServer,
  matchesAny,
  matchesTarget,
  ruleFingerprint,
} from "../../src/alerts/rule.ts";
import type { Match, ServerRule } from "../../src/alerts/rule.ts";
import { silences } from "../../src/alerts/silence.ts";
import { inPolls, lasting, serverRule, showing, targetRule } from "./support/watch.ts";

describe("patterns", () => {
  it("fit exactly what the regular expression of the same meaning fits", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "A", ".", "\n"), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "*"), maxLength: 6 });
    fc.assert(
      fc.property(pattern, text, (wild, subject) => {
        const source = wild.replaceAll(".", "\\.").replaceAll("*", ".*");
        expect(matchesAny([wild], subject)).toBe(new RegExp(`^${source}$`, "s").test(subject));
      }),
      { numRuns: 1_000 },
    );
  });

  it("allow all if they are missing; one of several is enough, and none at all allows nothing", () => {
    const fits = [undefined, ["git", "g*b"], []].map((some) => matchesAny(some, "github"));
    expect(fits).toEqual([true, true, false]);
  });
});

describe("a rule", () => {
  const server = showing("error", "a", { benchmark: "MCP_Atlas", tags: ["prod", "blue"] });
  const bare = { ...server, name: null, benchmark: null, tags: [] };

  it.each<[Match, boolean]>([
    [{}, true],
    [{ region: ["us"], key: ["res*"] }, true],
    [{ region: ["eu"] }, false],
    [{ region: ["us"], key: ["ops"] }, false],
  ])("with match %j is about the target: %s", (match, isAbout) => {
    expect(matchesTarget(match, { region: "us", key: "research" })).toBe(isAbout);
  });

  it.each<[Match, typeof server, boolean]>([
    [{}, server, true],
    [{ serverName: ["git*"] }, server, true],
    [{ serverName: ["git"] }, server, false],
    [{ benchmark: ["MCP_*"] }, server, true],
    [{ benchmark: ["Toolathlon"] }, server, false],
    [{ tag: ["blue"] }, server, true],
    [{ tag: ["green"] }, server, false],
    [{ tag: ["blue"], serverName: ["git"] }, server, false],
    [{ serverName: [""] }, bare, true],
    [{ benchmark: ["?"] }, bare, false],
    [{ tag: ["*"] }, bare, false],
  ])("with match %j is about %j: %s", (match, observed, holds) => {
    expect(concernsServer(serverRule({ match }), observed)).toBe(holds);
  });
});

it("a silence matches if each of its fields does; what has no such field does not match", () => {
  const none = { key: null, probe: null, sandbox_id: null, server_id: null, benchmark: null };
  const named = { rule: "full", severity: "info", region: "us", server_name: "git" };
  const facts = { ...none, ...named, tag: ["a", "b"] };
  expect(silences({ region: ["u*"], server_name: ["x", "git"], tag: ["b"] }, facts)).toBe(true);
  expect(silences({ region: ["u*"], tag: ["c"] }, facts)).toBe(false);
  expect(silences({ key: ["*"] }, facts)).toBe(false);
});

describe("a rule's fingerprint", () => {
  it.each<Partial<ServerRule>>([
    { receivers: ["other"] },
    { severity: "info" },
    { remindEveryMs: 1 },
    { match: { tag: ["b", "a"] } },
  ])("is the same when only %j is edited", (edit) => {
    const rule = serverRule({ match: { tag: ["a", "b"] } });
    expect(ruleFingerprint({ ...rule, ...edit })).toBe(ruleFingerprint(rule));
  });

  it("differs between all rules whose conditions differ", () => {
    const fields = ["region", "key", "serverName", "benchmark", "tag"] as const;
    const holds = [lasting(1), inPolls(1)].map((hold) => ({ for: hold }));
    const common = [{ name: "another" }, ...holds, { keepFiringForMs: 1 }];
    const matches = [...fields.map((field) => ({ [field]: ["us"] })), { tag: [] }];
    const about = matches.map((match) => ({ match }));
    const rules = [
      ...[{}, { status: "unknown" as const }, ...common, ...about].map(serverRule),
      ...[{}, { trouble: "auth" as const }, ...common, ...about.slice(0, 1)].map(targetRule),
    ];
    expect(new Set(rules.map(ruleFingerprint)).size).toBe(rules.length);
    expect(rules).toHaveLength(19);
  });
});
