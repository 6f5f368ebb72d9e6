import { describe, expect, it } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { loadConfig, parseConfig } from "../../src/config/load-config.ts";
import { configOf, faultLines, writeFiles } from "./support.ts";

const base = {
  regions: {
    us: { base_url: "https://us.example.com" },
    eu: { base_url: "https://eu.example.com" },
  },
  keys: [
    { name: "research", api_key: "k1" },
    { name: "evals", api_key: "k2", regions: ["eu"] },
  ],
};

const user = { name: "login", operation: "user", id: "user-1" };

function read(...probes: readonly object[]): Config["probes"] {
  return configOf(parseConfig({ ...base, probes })).probes;
}

function faults(probes: unknown, rules: readonly object[] = []): readonly string[] {
  return faultLines(parseConfig({ ...base, probes, alerts: { rules } }));
}

describe("a probe", () => {
  it("runs every minute, everywhere, and expects an answer, unless it says otherwise", () => {
    expect(read(user)).toEqual([
      {
        name: "login",
        operation: "get_user",
        id: "user-1",
        targets: [
          { region: "us", key: "research" },
          { region: "eu", key: "research" },
          { region: "eu", key: "evals" },
        ],
        schedule: { kind: "every", ms: 60_000 },
        expect: { status: 200, success: null, atLeast: null, fields: [] },
      },
    ]);
  });

  it("uses a key in its own regions only", () => {
    const [probe] = read({ ...user, regions: ["us", "eu"], keys: ["evals"] });
    expect(probe?.targets).toEqual([{ region: "eu", key: "evals" }]);
  });

  it("has a schedule as polls have", () => {
    const schedules = read(
      { ...user, every: "5s" },
      { ...user, name: "b", schedule: "*/5 * * * * *" },
    );
    expect(schedules.map(({ schedule }) => schedule)).toEqual([
      { kind: "every", ms: 5_000 },
      { kind: "cron", expression: "*/5 * * * * *", timeZone: "UTC" },
    ]);
  });

  it("takes each form of an expectation", () => {
    const fields = {
      "a.b\\.c": "x",
      d: 1.5,
      e: false,
      f: null,
      g: { present: true },
      h: { absent: true },
    };
    const [probe] = read({ ...user, expect: { fields } });
    expect(probe?.expect.fields).toEqual([
      { path: ["a", "b.c"], must: { be: "equal", to: "x" } },
      { path: ["d"], must: { be: "equal", to: 1.5 } },
      { path: ["e"], must: { be: "equal", to: false } },
      { path: ["f"], must: { be: "equal", to: null } },
      { path: ["g"], must: { be: "present" } },
      { path: ["h"], must: { be: "absent" } },
    ]);
  });

  it.each(["user", "universes", "universe-data", "white-label", "sandboxes"])(
    "may expect fields of %s",
    (operation) => {
      const id = operation === "universes" || operation === "sandboxes" ? {} : { id: "u" };
      const [probe] = read({ name: "a", operation, ...id, expect: { fields: { a: 1 } } });
      expect(probe?.expect.fields).toEqual([{ path: ["a"], must: { be: "equal", to: 1 } }]);
    },
  );

  it("of a white label expects that there is one, unless it says otherwise", () => {
    const brand = { name: "brand", operation: "white-label", id: "c" };
    const expected = read(
      brand,
      { ...brand, name: "b", expect: { success: false } },
      { ...brand, name: "c", expect: { status: "404" } },
    ).map((probe) => [probe.expect.status, probe.expect.success]);
    expect(expected).toEqual([
      [200, true],
      [200, false],
      [404, null],
    ]);
  });
});

describe("a wrong probe is told by path, what was found and what is allowed", () => {
  const id = "an id of at most 512 characters (numbers quoted), other than . and ..";
  const status = "an HTTP status from 200 to 499 other than 429, which only asks to wait";
  const must = "a value to be equal to, { present: true } or { absent: true }";

  it.each<[string, unknown, string]>([
    ["no list", { a: 1 }, "probes: found a mapping; allowed: a list of probes"],
    [
      "a misspelt operation",
      [{ ...user, operation: "usr" }],
      'probes[0].operation: found "usr"; allowed: user, universes, universe-data, white-label, sandboxes; did you mean "user"?',
    ],
    [
      "a name twice",
      [user, user],
      'probes[1].name: found "login", the same as probes[0].name; allowed: a name that no other probe has',
    ],
    [
      "no id",
      [{ name: "a", operation: "user" }],
      "probes[0].id: found nothing; allowed: the id that user asks for",
    ],
    [
      "an id too many",
      [{ ...user, operation: "universes" }],
      'probes[0].id: found "user-1"; allowed: nothing: universes takes no id',
    ],
    [
      "a number as id",
      [{ ...user, id: 12 }],
      `probes[0].id: found 12, which YAML reads as a number: quote it; allowed: ${id}`,
    ],
    ["an id that is no path", [{ ...user, id: ".." }], `probes[0].id: found ".."; allowed: ${id}`],
    ["an empty id", [{ ...user, id: "" }], `probes[0].id: found empty text; allowed: ${id}`],
    [
      "half a character as id",
      [{ ...user, id: "\ud800" }],
      `probes[0].id: found "\\ud800"; allowed: ${id}`,
    ],
    [
      "a misspelt region",
      [{ ...user, regions: ["uss"] }],
      'probes[0].regions[0]: found "uss"; allowed: the name of a configured region: us, eu; did you mean "us"?',
    ],
    [
      "a misspelt key",
      [{ ...user, keys: ["eval"] }],
      'probes[0].keys[0]: found "eval"; allowed: the name of a configured key: research, evals; did you mean "evals"?',
    ],
    [
      "a region twice",
      [{ ...user, regions: ["us", "us"] }],
      'probes[0].regions[1]: found "us", the same as probes[0].regions[0]; allowed: each region once',
    ],
    [
      "no region",
      [{ ...user, regions: [] }],
      "probes[0].regions: found an empty list; allowed: at least one region; omit the setting for every region",
    ],
    [
      "a key that is in none of the regions",
      [{ ...user, regions: ["us"], keys: ["evals"] }],
      "probes[0]: found no key that is in any of its regions; allowed: regions and keys of which at least one has the other",
    ],
    [
      "two schedules",
      [{ ...user, every: "5s", schedule: "* * * * * *" }],
      "probes[0].every: found schedule beside it; allowed: one of the two",
    ],
    [
      "a status to wait for",
      [{ ...user, expect: { status: 429 } }],
      `probes[0].expect.status: found 429; allowed: ${status}`,
    ],
    [
      "no status",
      [{ ...user, expect: { status: "abc" } }],
      `probes[0].expect.status: found "abc"; allowed: ${status}`,
    ],
    [
      "an unknown expectation",
      [{ ...user, expect: { sucess: true } }],
      'probes[0].expect.sucess: found an unknown setting; allowed: status, success, at_least, fields; did you mean "success"?',
    ],
    [
      "success of a user",
      [{ ...user, expect: { success: true } }],
      "probes[0].expect.success: found true; allowed: nothing: it is for operation white-label",
    ],
    [
      "a number of users",
      [{ ...user, expect: { at_least: 1 } }],
      "probes[0].expect.at_least: found 1; allowed: nothing: it is for operation universes, sandboxes",
    ],
    [
      "fields of a refusal",
      [{ ...user, expect: { status: 404, fields: { a: 1 } } }],
      "probes[0].expect.fields: found a mapping; allowed: nothing beside a status other than 200",
    ],
    [
      "a field without name",
      [{ ...user, expect: { fields: { "a..b": 1 } } }],
      'probes[0].expect.fields["a..b"]: found 1; allowed: a path to a field, such as data.plans.0.name (\\. for a dot in a name)',
    ],
    [
      "a field that is not present",
      [{ ...user, expect: { fields: { a: { present: false } } } }],
      `probes[0].expect.fields.a: found a mapping; allowed: ${must}`,
    ],
    [
      "a field that is a list",
      [{ ...user, expect: { fields: { a: [1] } } }],
      `probes[0].expect.fields.a: found a list; allowed: ${must}`,
    ],
  ])("%s", (_, probes, line) => {
    expect(faults(probes)).toEqual([line]);
  });

  it("and all faults at once", () => {
    expect(faults([{ name: "a b", operation: "user", every: 1, schedule: "x" }])).toHaveLength(5);
  });
});

describe("a rule on probes", () => {
  const rule = { name: "failing", on: "probe", failing: { polls: 3 } };

  it("is read with what it has in common with others", () => {
    const match = { probe: "log*", region: ["us"] };
    const written = { ...rule, match, flap: { changes: 2, within: "1h" }, keep_firing_for: "5m" };
    const parsed = parseConfig({ ...base, probes: [user], alerts: { rules: [written] } });
    expect(configOf(parsed).alerts.rules).toEqual([
      {
        name: "failing",
        on: "probe",
        severity: "warning",
        for: { kind: "polls", polls: 3 },
        flap: { changes: 2, withinMs: 3_600_000 },
        match: { probe: ["log*"], region: ["us"] },
        keepFiringForMs: 300_000,
        remindEveryMs: null,
        receivers: [],
        summaryTemplate: null,
        runbookUrlTemplate: null,
      },
    ]);
  });

  it.each<[string, object, readonly object[], string]>([
    [
      "without probes",
      rule,
      [],
      "alerts.rules[0].on: found a rule on probes, but no probes; allowed: another subject, or probes in the file",
    ],
    [
      "without a time",
      { name: "a", on: "probe" },
      [user],
      "alerts.rules[0].failing: found nothing; allowed: a duration such as 30s or 1h30m, or { polls: 3 }",
    ],
    [
      "on a misspelt probe",
      { ...rule, match: { probe: "logn" } },
      [user],
      'alerts.rules[0].match.probe: found "logn"; allowed: the name of a configured probe: login; did you mean "login"?',
    ],
    [
      "on probes that there are not where it looks",
      { ...rule, match: { probe: "log*", key: "evals" } },
      [{ ...user, regions: ["us"] }],
      "alerts.rules[0].match: found no probe with any key in any region that fits; allowed: what fits at least one probe",
    ],
    [
      "on servers",
      { ...rule, match: { server_name: "a" } },
      [user],
      "alerts.rules[0].match.server_name: found an unknown setting; allowed: probe, region, key",
    ],
  ])("%s is faulty", (_, written, probes, line) => {
    expect(faults(probes, [written])).toEqual([line]);
  });
});

it("rules on probes can be rehearsed where neither ids nor what is expected are at hand", () => {
  const file = writeFiles({
    "sandwatch.yaml": JSON.stringify({
      ...base,
      probes: [
        { ...user, id: "${NOT_SET}" },
        { name: "fleet", operation: "sandboxes", expect: { at_least: "${NOT_SET}" } },
      ],
      alerts: { rules: [{ name: "failing", on: "probe", failing: "5m" }] },
    }),
  });
  expect(loadConfig(file, {}).kind).toBe("faulty");
  expect(configOf(loadConfig(file, {}, { withoutSecrets: true })).probes).toHaveLength(2);
});
