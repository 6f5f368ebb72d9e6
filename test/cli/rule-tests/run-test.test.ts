import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compare, messageText } from "../../../src/cli/rule-tests/compare.ts";
import { loadTests } from "../../../src/cli/rule-tests/load-tests.ts";
import type { Rehearsals } from "../../../src/cli/rule-tests/load-tests.ts";
import { runRuleTest } from "../../../src/cli/rule-tests/run-test.ts";
import { tempFolder } from "../../support/temp-folder.ts";

function load(content: object, config?: object): Rehearsals {
  const folder = tempFolder();
  // JSON is YAML.
  if (config) writeFileSync(join(folder, "sandwatch.yaml"), JSON.stringify(config));
  const file = join(folder, "rules.test.yaml");
  writeFileSync(file, JSON.stringify(content));
  const loaded = loadTests(file, {});
  if (loaded.kind === "ok") return loaded.rehearsals;
  throw new Error(JSON.stringify(loaded.faults));
}

/** What the first test of a file leads to, as `1m30s server-error firing a`. */
function told(content: object, config?: object): readonly string[] {
  const { config: loaded, targets, tests } = load(content, config);
  const [test] = tests;
  if (!test) throw new RangeError("a file holds a test at least");
  return runRuleTest(test, loaded, targets).map((message) =>
    messageText(message)
      .replace("  oncall", "")
      .replace(/ {2}"[^"]*"$/, "")
      .replaceAll("  ", " "),
  );
}

const serverError = { name: "server-error", on: "server", status: "error" };

describe("a rehearsal", () => {
  it("tells at the time of the poll that shows it, and of the one that ends it", () => {
    const test = {
      name: "x",
      servers: [{ server: "a", timeline: "idle*2 error*2 idle" }],
      expect: [],
    };
    expect(told({ rules: [serverError], tests: [test] })).toEqual([
      "1m server-error firing servers: a",
      "2m server-error resolved servers: a reason: recovered",
    ]);
  });

  it("has what is not listed gone after as many polls as the configuration says", () => {
    const test = { name: "x", servers: [{ server: "a", timeline: "error gone*3" }], expect: [] };
    expect(told({ rules: [serverError], tests: [test] })).toEqual([
      "0s server-error firing servers: a",
      "1m server-error resolved servers: a reason: gone",
    ]);
  });

  it("takes a status that is not stated for no recovery", () => {
    const servers = [{ server: "a", timeline: "error*2 unknown*4 error*2 idle" }];
    const tests = [{ name: "x", servers, expect: [] }];
    expect(told({ rules: [serverError], tests })).toEqual([
      "0s server-error firing servers: a",
      "4m server-error resolved servers: a reason: recovered",
    ]);
  });

  it("groups and waits as the configured receiver does", () => {
    const config = {
      regions: { us: { base_url: "${NOT_SET}" } },
      keys: [{ name: "research", api_key_file: "/nowhere/key" }],
      poll: { every: "10s" },
      alerts: {
        rules: [serverError],
        receivers: [
          {
            name: "oncall",
            type: "webhook",
            url: "${NOT_SET}",
            group_wait: "15s",
            group_by: ["rule"],
          },
        ],
      },
    };
    const servers = [
      { server: "a", timeline: "error" },
      { server: "b", timeline: "idle error" },
      { server: "c", timeline: "idle*2 error" },
    ];
    const test = { name: "x", until: "1m", servers, expect: [] };
    expect(told({ config: "sandwatch.yaml", tests: [test] }, config)).toEqual([
      "15s server-error firing servers: a, b",
      "35s server-error firing servers: c",
    ]);
  });

  it("says nothing of servers while their target cannot be seen", () => {
    const test = {
      name: "x",
      servers: [{ server: "a", timeline: "error idle" }],
      targets: [{ timeline: "ok timeout*3 ok" }],
      expect: [],
    };
    expect(told({ rules: [serverError], tests: [test] })).toEqual([
      "0s server-error firing servers: a",
      "2m server-error resolved servers: a reason: recovered",
    ]);
  });

  it("judges rules on pools and on refused keys", () => {
    const rules = [
      { name: "full", on: "pool", by: ["region"], idle: { below: 1 } },
      { name: "refused", on: "target", auth: { polls: 2 } },
    ];
    const test = {
      name: "x",
      servers: [{ server: "a", region: "eu", timeline: "idle occupied" }],
      targets: [{ region: "us", timeline: "auth*2 timeout auth ok" }],
      expect: [],
    };
    expect(told({ rules, tests: [test] })).toEqual([
      "30s refused firing",
      "30s full firing",
      "2m refused resolved reason: recovered",
    ]);
  });

  it("keeps silence as long as the test does, and reminds no more of what was acknowledged", () => {
    const test = {
      name: "x",
      until: "10m",
      servers: [{ server: "a", timeline: "error" }],
      silences: [{ from: "0s", until: "2m", match: { server_id: "a" } }],
      acknowledge: [{ at: "5m15s", rule: "server-error", by: "anna" }],
      expect: [],
    };
    const receivers = [
      {
        name: "oncall",
        type: "webhook",
        url: "https://a.example",
        group_wait: "0s",
        send_acknowledged: true,
      },
    ];
    const rules = [{ ...serverError, remind_every: "1m" }];
    expect(told({ rules, receivers, tests: [test] })).toEqual([
      "2m server-error firing servers: a",
      "3m server-error reminder servers: a",
      "4m server-error reminder servers: a",
      "5m server-error reminder servers: a",
      "5m15s server-error acknowledged servers: a",
    ]);
  });

  it("keeps silence in the maintenance windows of the configuration, by the test's own clock", () => {
    const config = {
      regions: { us: { base_url: "${NOT_SET}" } },
      keys: [{ name: "research", api_key_file: "/nowhere/key" }],
      poll: { every: "1m" },
      alerts: {
        rules: [serverError],
        maintenance: [
          {
            name: "weekly",
            start: "0 3 * * SUN",
            duration: "10m",
            time_zone: "Europe/Berlin",
            match: { server_name: "git*" },
          },
        ],
        receivers: [{ name: "oncall", type: "webhook", url: "${NOT_SET}", group_wait: "0s" }],
      },
    };
    const test = {
      name: "x",
      // A Sunday, five minutes before three o'clock in Berlin.
      start: "2026-07-05T00:55:00Z",
      until: "20m",
      servers: [
        { server: "a", name: "github", timeline: "idle*7 error" },
        { server: "b", name: "jira", timeline: "idle*7 error" },
      ],
      expect: [],
    };
    expect(told({ config: "sandwatch.yaml", tests: [test] }, config)).toEqual([
      "7m server-error firing servers: b",
      "15m server-error firing servers: a",
    ]);
    const otherDay = { ...test, start: "2026-07-06T00:55:00Z" };
    expect(told({ config: "sandwatch.yaml", tests: [otherDay] }, config)).toEqual([
      "7m server-error firing servers: a, b",
    ]);
  });
});

describe("comparing", () => {
  const file = {
    rules: [serverError],
    tests: [
      {
        name: "x",
        servers: [{ server: "a", timeline: "error idle" }],
        expect: [
          { at: "0s", type: "firing", rule: "server-error", servers: ["a"], count: 1 },
          { at: "30s", type: "resolved", rule: "server-error", reason: "recovered" },
        ],
      },
    ],
  };

  it.each([
    [{ at: "1s" }],
    [{ type: "reminder" }],
    [{ servers: ["b"] }],
    [{ servers: [] }],
    [{ count: 2 }],
    [{ severity: "info" }],
    [{ summary: "?" }],
    [{ flapping: true }],
    [{ reason: "gone" }],
  ])("finds the message that is not as expected: %o", (change) => {
    const [test] = file.tests;
    const [first, second] = test?.expect ?? [];
    const changed = { ...test, expect: [{ ...first, ...change }, second] };
    const { config, targets, tests } = load({ ...file, tests: [changed] });
    const [placed] = tests;
    const difference = placed && compare(runRuleTest(placed, config, targets), placed.expect);
    expect(difference?.missing).toHaveLength(1);
    expect(difference?.unexpected).toHaveLength(1);
  });

  it("finds none where all is as expected, and one message stands for one expectation", () => {
    const { config, targets, tests } = load(file);
    const [test] = tests;
    const messages = test ? runRuleTest(test, config, targets) : [];
    expect(test && compare(messages, test.expect)).toEqual({ missing: [], unexpected: [] });
    expect(test && compare(messages, [...test.expect, ...test.expect]).missing).toHaveLength(2);
  });
});

describe("a file of tests", () => {
  const test = { name: "x", servers: [{ server: "a", timeline: "idle" }], expect: [] };

  it.each([
    ["neither config nor rules", { tests: [test] }, "neither config nor rules"],
    ["both", { config: "c", rules: [], tests: [test] }, "config and rules"],
    [
      "an unknown rule",
      {
        rules: [serverError],
        tests: [{ ...test, expect: [{ at: "0s", type: "firing", rule: "server-eror" }] }],
      },
      "server-eror",
    ],
    [
      "an unknown receiver",
      {
        rules: [serverError],
        tests: [
          {
            ...test,
            expect: [{ at: "0s", type: "firing", rule: "server-error", receiver: "nobody" }],
          },
        ],
      },
      "nobody",
    ],
    [
      "a server twice",
      { rules: [], tests: [{ ...test, servers: [...test.servers, ...test.servers] }] },
      "the same as tests[0].servers[0].server",
    ],
    [
      "a silence that ends before it starts",
      { rules: [], tests: [{ ...test, silences: [{ from: "2m", until: "1m" }] }] },
      "1m",
    ],
    [
      "a silence about a rule that there is not",
      {
        rules: [serverError],
        tests: [
          { ...test, silences: [{ from: "0s", until: "1m", match: { rule: "server-eror" } }] },
        ],
      },
      "server-eror",
    ],
    ["a wrong rule", { rules: [{ ...serverError, for: "soon" }], tests: [test] }, "soon"],
    ["no test", { rules: [], tests: [] }, "an empty list"],
  ])("is refused with %s", (_, content, found) => {
    const file = join(tempFolder(), "rules.test.yaml");
    writeFileSync(file, JSON.stringify(content));
    const loaded = loadTests(file, {});
    expect(loaded.kind === "faulty" && loaded.faults.map((fault) => fault.found)).toEqual([
      expect.stringContaining(found),
    ]);
  });

  it("is refused when it is not there", () => {
    const loaded = loadTests(join(tempFolder(), "none.yaml"), {});
    expect(loaded.kind === "faulty" && loaded.faults[0]?.found).toContain("does not exist");
  });

  it("is exemplified by one whose tests all pass", () => {
    const loaded = loadTests("config/rules.test.example.yaml", {});
    if (loaded.kind === "faulty") throw new Error(JSON.stringify(loaded.faults));
    const { config, targets, tests } = loaded.rehearsals;
    for (const each of tests) {
      expect([each.name, compare(runRuleTest(each, config, targets), each.expect)]).toEqual([
        each.name,
        { missing: [], unexpected: [] },
      ]);
    }
  });
});
