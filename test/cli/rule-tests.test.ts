import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadTests } from "../../src/cli/rule-tests/load-tests.ts";
import { runRuleTest } from "../../src/cli/rule-tests/run-test.ts";
import { parseTimeline } from "../../src/cli/rule-tests/schema.ts";
import { messageText, resultOf } from "../../src/cli/test-rules.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";

function writeTests(content: object, config: object = {}): string {
  const folder = tempFolder();
  // JSON is YAML.
  writeFileSync(join(folder, "sandwatch.yaml"), JSON.stringify(config));
  const file = join(folder, "rules.test.yaml");
  writeFileSync(file, JSON.stringify(content));
  return file;
}

async function sentBy(content: object, config?: object) {
  const loaded = loadTests(writeTests(content, config), {});
  const [test] = loaded.tests;
  if (!test) throw new RangeError("there is no test");
  return { test, sent: await runRuleTest(test, loaded.config) };
}

const serverError = { name: "server-error", on: "server", status: "error" };

/** What a test leads to, as `1m30s server-error firing servers: a`. */
async function messagesOf(
  test: object,
  rules: object = { rules: [serverError] },
  config?: object,
): Promise<readonly string[]> {
  const { sent } = await sentBy({ ...rules, tests: [{ name: "x", expect: [], ...test }] }, config);
  return sent.map((message) =>
    messageText(message)
      .replace("  oncall", "")
      .replace(/ {2}"[^"]*"$/, "")
      .replaceAll("  ", " "),
  );
}

const serverWith = (timeline: string) => ({ servers: [{ server: "a", timeline }] });
const configWith = (receiver: object, more: object = {}) => ({
  regions: { us: { base_url: "${NOT_SET}" } },
  keys: [{ name: "research", api_key_file: "/nowhere/key" }],
  poll: { every: "10s" },
  alerts: {
    rules: [serverError],
    receivers: [{ name: "oncall", type: "webhook", url: "${NOT_SET}", ...receiver }],
    ...more,
  },
});
const named = { config: "sandwatch.yaml" };

describe("a rule test", () => {
  it("of a sandbox that states a status itself, of one that does not, and of one that is acknowledged", async () => {
    const sandboxError = {
      name: "sandbox-error",
      on: "sandbox",
      status: "error",
      remind_every: "30s",
    };
    const rules = { rules: [sandboxError] };
    const box = (timeline: string, more: object = {}) => ({
      servers: [{ sandbox: "spoken-for", server: "a", timeline: "error" }],
      sandboxes: [{ sandbox: "box", timeline, ...more }],
    });
    expect(await messagesOf(box("idle error unstated idle gone"), rules)).toEqual([
      "30s sandbox-error firing sandboxes: box",
      "1m30s sandbox-error resolved sandboxes: box reason: recovered",
    ]);
    const acknowledge = [{ at: "30s", rule: "sandbox-error", sandbox: "box" }];
    expect(await messagesOf({ ...box("idle error*4 gone*3"), acknowledge }, rules)).toEqual([
      "30s sandbox-error firing sandboxes: box",
      "3m sandbox-error resolved sandboxes: box reason: gone",
    ]);
    const { test, sent } = await sentBy({
      ...rules,
      tests: [
        {
          name: "x",
          ...box("idle error"),
          expect: [{ at: "30s", type: "firing", rule: "sandbox-error", sandboxes: ["spoken-for"] }],
        },
      ],
    });
    expect(resultOf(test, sent)).toMatchObject({ passed: false });
  });

  it.each([
    ["of an error", "idle*2 error*2 idle", ["1m firing", "2m resolved recovered"]],
    ["of a server that is gone", "error gone*3", ["0s firing", "1m resolved gone"]],
    [
      "in which an unknown status is no recovery",
      "error*2 unknown*4 error*2 idle",
      ["0s firing", "4m resolved recovered"],
    ],
  ])("%s has the messages at the times of the polls", async (_, timeline, expected) => {
    const messages = await messagesOf(serverWith(timeline));
    expect(
      messages.map((text) =>
        text.replace("server-error ", "").replace(/ servers: a(?: reason:)?/, ""),
      ),
    ).toEqual(expected);
  });

  it("groups messages as the configured receiver does", async () => {
    const config = configWith({ group_wait: "15s", group_by: ["rule"] });
    const servers = [
      { server: "a", timeline: "error" },
      { server: "b", timeline: "idle error" },
      { server: "c", timeline: "idle*2 error" },
    ];
    expect(await messagesOf({ until: "1m", servers }, named, config)).toEqual([
      "15s server-error firing servers: a, b",
      "35s server-error firing servers: c",
    ]);
  });

  it("applies rules on pools and targets", async () => {
    const rules = [
      { name: "full", on: "pool", by: ["region"], idle: { below: 1 } },
      { name: "refused", on: "target", auth: { polls: 2 } },
    ];
    const test = {
      servers: [{ server: "a", region: "eu", timeline: "idle occupied" }],
      targets: [{ region: "us", timeline: "auth*2 timeout auth ok" }],
    };
    expect(await messagesOf(test, { rules })).toEqual([
      "30s refused firing",
      "30s full firing",
      "2m refused resolved reason: recovered",
    ]);
  });

  it("applies rules on regions after the polls of all targets, and inhibits their targets", async () => {
    const rules = [
      { name: "region-down", on: "region", failing: { polls: 2 } },
      { name: "target-down", on: "target", failing: { polls: 3 } },
    ];
    const keys = ["research", "batch"].map((name) => ({ name, api_key_file: "/nowhere/key" }));
    const config = { ...configWith({ group_wait: "0s" }, { rules }), keys };
    const test = {
      every: "30s",
      until: "10m",
      targets: [
        { key: "research", timeline: "ok timeout*6 ok" },
        { key: "batch", timeline: "ok timeout*9 ok" },
      ],
    };
    const { sent } = await sentBy(
      { ...named, tests: [{ name: "x", expect: [], ...test }] },
      config,
    );
    expect(sent.map(({ atMs, notification }) => [atMs / 1_000, notification.summary])).toEqual([
      [60, "us: both keys failing since 00:00 UTC (timeout)"],
      [210, "Resolved after 3 min: us failing as a whole"],
      [240, "us/batch down since 00:00 UTC (3 min, timeout, 8 polls in a row)"],
      [300, "Resolved after 4 min: us/batch down"],
    ]);
  });

  it("applies silences and acknowledgements", async () => {
    const test = {
      until: "10m",
      ...serverWith("error"),
      silences: [{ from: "0s", until: "2m", match: { server_id: "a" } }],
      acknowledge: [{ at: "5m15s", rule: "server-error", by: "anna" }],
    };
    const oncall = { name: "oncall", type: "webhook", url: "https://a.example" };
    const receivers = [{ ...oncall, group_wait: "0s", send_acknowledged: true }];
    const rules = [{ ...serverError, remind_every: "1m" }];
    expect(await messagesOf(test, { rules, receivers })).toEqual([
      "2m server-error firing servers: a",
      "3m server-error reminder servers: a",
      "4m server-error reminder servers: a",
      "5m server-error reminder servers: a",
      "5m15s server-error acknowledged servers: a",
    ]);
  });

  it("routes, escalates and keeps to hours", async () => {
    const to = { type: "webhook", url: "https://a.example", group_wait: "0s" };
    const receivers = [
      { ...to, name: "others", match: { server_name: "b" } },
      { ...to, name: "office", hours: { open: ["sat 10:02-18:00"] } },
      { ...to, name: "lead" },
    ];
    const escalate = [{ after: "5m", receivers: ["lead"] }];
    const test = { start: "2026-11-28T10:00:00Z", until: "10m", ...serverWith("error") };
    expect(await messagesOf(test, { rules: [{ ...serverError, escalate }], receivers })).toEqual([
      "2m office server-error firing servers: a",
      "5m lead server-error firing servers: a",
    ]);
  });

  it("applies the maintenance windows of the configuration, by the time of the test", async () => {
    const window = { name: "weekly", start: "0 3 * * SUN", duration: "10m" };
    const berlin = { time_zone: "Europe/Berlin", match: { server_name: "git*" } };
    const maintenance = [{ ...window, ...berlin }];
    const config = configWith({ group_wait: "0s" }, { maintenance });
    const test = {
      every: "1m",
      until: "20m",
      servers: [
        { server: "a", name: "github", timeline: "idle*7 error" },
        { server: "b", name: "jira", timeline: "idle*7 error" },
      ],
    };
    // Five minutes before three o'clock in Berlin, on a Sunday and on a Monday.
    const [sunday, monday] = ["2026-07-05T00:55:00Z", "2026-07-06T00:55:00Z"];
    expect(await messagesOf({ ...test, start: sunday }, named, config)).toEqual([
      "7m server-error firing servers: b",
      "15m server-error firing servers: a",
    ]);
    expect(await messagesOf({ ...test, start: monday }, named, config)).toEqual([
      "7m server-error firing servers: a, b",
    ]);
  });
});

describe("the comparison of a rule test", () => {
  const first = { at: "0s", type: "firing", rule: "server-error", servers: ["a"], count: 1 };
  const second = { at: "30s", type: "resolved", rule: "server-error", reason: "recovered" };
  const compared = async (expectations: readonly object[]) => {
    const test = { name: "x", ...serverWith("error idle"), expect: expectations };
    const { sent, test: placed } = await sentBy({ rules: [serverError], tests: [test] });
    const { missing, unexpected } = resultOf(placed, sent);
    return [missing.length, unexpected.length];
  };

  it.each([
    { at: "1s" },
    { servers: ["b"] },
    { count: 2 },
    { severity: "info" },
    { summary: "?" },
    { reason: "gone" },
  ])("finds the message that differs in %o", async (change) => {
    expect(await compared([{ ...first, ...change }, second])).toEqual([1, 1]);
  });

  it("takes each message for one expectation", async () => {
    expect(await compared([first, second])).toEqual([0, 0]);
    expect(await compared([first, second, first, second])).toEqual([2, 0]);
  });
});

describe("a file of rule tests", () => {
  const test = { name: "x", servers: [{ server: "a", timeline: "idle" }], expect: [] };

  const silence = { from: "0s", until: "1m", match: { region: "mars" } };
  const late = { ...silence, from: "2m" };
  const expected = { at: "0s", type: "firing", rule: "server-eror" };
  const twice = [...test.servers, ...test.servers];

  it.each<[string, object, object, string]>([
    ["neither config nor rules", { rules: undefined }, {}, "either config"],
    [
      "a wrong rule",
      { rules: [{ ...serverError, for: "soon" }] },
      {},
      "alerts.rules[0].for: found",
    ],
    ["no test", { tests: [] }, {}, "an empty list"],
    ["an unknown rule", {}, { expect: [expected] }, 'did you mean "server-error"?'],
    ["an unknown region", {}, { silences: [silence] }, "the name of a configured region: us"],
    ["a silence that ends before it starts", {}, { silences: [late] }, "a time after from"],
    ["a server twice", {}, { servers: twice }, "each server of a sandbox once"],
  ])("is refused with %s", async (_, file, changed, message) => {
    const content = { rules: [serverError], tests: [{ ...test, ...changed }], ...file };
    const ended = await runCommand(["test-rules", writeTests(content)]);
    expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
    expect(ended.err).toContain("cannot be used: 1 error\n");
  });

  it("passes as the example does, or fails with what differs", async () => {
    const passed = await runCommand(["test-rules", "config/rules.test.example.yaml", "--json"]);
    expect(passed).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(passed.out)).toMatchObject({
      tests: Array.from({ length: 5 }, () => ({ passed: true })),
    });
    const failing = { ...test, name: "bad", servers: [{ server: "a", timeline: "error" }] };
    const file = writeTests({ rules: [serverError], tests: [test, failing] });
    const failed = await runCommand(["test-rules", file]);
    expect(failed).toMatchObject({ code: 1, err: "1 of 2 tests failed\n" });
    const alone = await runCommand([
      "test-rules",
      writeTests({ rules: [serverError], tests: [failing] }),
    ]);
    expect(alone.err).toBe("1 of 1 test failed\n");
    expect(failed.out).toContain("passed  x\nFAILED  bad\n        sent, not expected:  0s  oncall");
  });
});

it("a timeline has words, and how many polls show each", () => {
  const words = ["idle", "error", "gone"];
  expect(parseTimeline("idle*2  error gone*1", words)).toEqual(["idle", "idle", "error", "gone"]);
  const wrong = ["", "  ", "ilde", "idle*0", "idle*1.5", "idle*", "*3", "idle*2*2"];
  for (const text of [...wrong, "idle*100001", "idle*60000 error*60000"]) {
    expect([text, parseTimeline(text, words)]).toEqual([text, undefined]);
  }
});
