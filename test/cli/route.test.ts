import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { judgePoll } from "../../src/alerts/judge.ts";
import type { Rule } from "../../src/alerts/rule.ts";
import { configNotes } from "../../src/cli/check-config.ts";
import { createReach } from "../../src/cli/receiver-reach.ts";
import type { Config } from "../../src/config/config.ts";
import { notifiedReceivers } from "../../src/config/notified-receivers.ts";
import type { ListedServer } from "../../src/fleet/snapshot.ts";
import { nothingKnown } from "../../src/alerts/target-state.ts";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import { watchPools } from "../../src/polling/watched-pools.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { judgeBy, startMs } from "../support/fleet.ts";
import { fixedCases } from "../support/random-cases.ts";
import { readListing } from "../support/listing.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { testConfig } from "../support/test-config.ts";

/** The example of two teams as the document has it, with secrets in place of their files. */
function twoTeams() {
  const document = readFileSync(join(import.meta.dirname, "../../docs/alerts.md"), "utf8");
  const [, section = ""] = document.split("## Who is notified");
  const [, yaml = ""] = /```yaml\n([^`]+)```/.exec(section) ?? [];
  const written = yaml
    .replaceAll(/api_key_file: [/\w-]+\/([\w-]+)/g, "api_key: $1-key")
    .replaceAll(/url_file: [/\w-]+/g, "url: https://hooks.slack.com/services/T0/B0/x")
    .replaceAll(/routing_key_file: [/\w-]+/g, `routing_key: "${"0".repeat(32)}"`);
  const base_url = "https://sandboxes.example";
  const settings: object = parse(written);
  return { ...settings, regions: { us: { base_url }, eu: { base_url } } };
}

const friday = "2026-11-27T12:00Z";
const night = "2026-11-27T22:00Z";

async function route(...args: readonly string[]) {
  const { config } = writeConfig(twoTeams());
  const ended = await runCommand(["route", "--config", config, "--region", "us", ...args]);
  expect(ended.err).toBe("");
  return ended.out;
}

it("check-config says which receivers each target reaches", async () => {
  const { config } = writeConfig(twoTeams());
  const { out, code } = await runCommand(["check-config", "--config", config]);
  expect(code).toBe(0);
  expect(out.split("\n").slice(1, -1)).toEqual([
    "us/search reaches search-chat, office",
    "eu/search reaches search-chat, office",
    "us/agents reaches agents-chat, office",
    "eu/agents reaches agents-chat, office",
  ]);
});

/** What a row of the document's table is about, as `route` is asked for it. */
const rowsOfTable: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^a server of the key `search` in error/, ["--key", "search", "--rule", "server-error"]],
  [/^the key `agents` cannot be polled/, ["--key", "agents", "--rule", "target-down"]],
  [/^a region down/, ["--key", "search", "--rule", "region-down"]],
  [/^a receiver fails/, ["--key", "search", "--rule", "receiver-failing"]],
];

it("route says the same as the table of the document", async () => {
  const document = readFileSync(join(import.meta.dirname, "../../docs/alerts.md"), "utf8");
  const [, table = ""] = document.split("| what happens");
  const [body = ""] = table.split("\n\n");
  const rows = body
    .split("\n")
    .slice(2)
    .map((row) => row.split("|").map((cell) => cell.trim()));
  expect(rows).toHaveLength(rowsOfTable.length);
  const names = ["search-chat", "agents-chat", "office", "lead"];
  const namedIn = (text = "") => names.filter((name) => text.includes(name));
  for (const [, what = "", atOnce, later] of rows) {
    const [, args = []] = rowsOfTable.find(([pattern]) => pattern.test(what)) ?? [];
    const { rules } = JSON.parse(await route(...args, "--at", friday, "--json"));
    const [{ severity, steps }] = rules;
    const [first, second = []] = steps.map(
      ({ receivers }: { readonly receivers: readonly string[] }) => receivers,
    );
    // But for the one that fails.
    const others = ["search-chat", "agents-chat", "office"];
    const areOthers = atOnce?.startsWith("the others") ?? false;
    expect(what).toContain(`(${severity})`);
    expect([what, first, second]).toEqual([
      what,
      areOthers ? others : namedIn(atOnce),
      namedIn(later),
    ]);
  }
});

it("route shows who is notified at once, later, and once hours begin", async () => {
  expect(await route("--key", "search", "--server", "github", "--rule", "server-error")).toBe(
    "server-error (critical)\n  at once       search-chat\n  after 15m     lead\n",
  );
  const warning = ["--key", "agents", "--rule", "target-down"];
  expect(await route(...warning, "--at", friday)).toBe(
    "target-down (warning)\n  at once       agents-chat, office\n  after 15m     nobody\n",
  );
  expect(await route(...warning, "--at", night)).toBe(
    "target-down (warning)\n  at once       agents-chat; office when its hours begin\n  after 15m     nobody\n",
  );
  const region = JSON.parse(
    await route("--key", "search", "--rule", "region-down", "--at", night, "--json"),
  );
  expect(region).toEqual({
    rules: [
      {
        rule: "region-down",
        severity: "critical",
        steps: [
          { after_seconds: 0, receivers: ["search-chat", "agents-chat"], when_hours_begin: [] },
          { after_seconds: 900, receivers: ["lead"], when_hours_begin: [] },
        ],
      },
    ],
  });
});

it("route shows who is notified of a receiver that fails, which is a built-in rule", async () => {
  expect(await route("--key", "search", "--rule", "receiver-failing", "--at", night)).toBe(
    "receiver-failing (warning)\n  at once       search-chat, agents-chat; office when its hours begin (but for the one that fails)\n  after 15m     nobody\n",
  );
});

it("route names a few of many targets that there are", async () => {
  const base_url = "https://sandboxes.example";
  const keys = Array.from({ length: 30 }, (_, at) => ({ name: `key${at}`, api_key: `k${at}` }));
  const { config } = writeConfig({ regions: { us: { base_url } }, keys });
  const { err } = await runCommand(["route", "--config", config, "--region", "us", "--key", "x"]);
  expect(err).toContain("there are us/key0, us/key1,");
  expect(err).toContain("us/key9 and 20 more");
  expect(err).not.toContain("us/key10");
});

it.each([
  [["--key", "x"], "us/x is no configured target; there are us/search, eu/search, us/agents"],
  [["--key", "search", "--rule", "x"], "x is no rule; there are server-error"],
  [["--key", "search", "--at", "soon"], "--at soon is no time; allowed: one such as"],
])("route with %j says what is wrong", async (args, words) => {
  const { config } = writeConfig(twoTeams());
  const ended = await runCommand(["route", "--config", config, "--region", "us", ...args]);
  expect([ended.code, ended.out]).toEqual([2, ""]);
  expect(ended.err).toContain(words);
});

it("notes where somebody is notified of nothing", () => {
  const base_url = "https://sandboxes.example";
  const match = { labels: { team: "search" } };
  const later = { on: "server", status: "occupied", receivers: [] };
  const config = testConfig({
    regions: { us: { base_url } },
    keys: [
      { name: "search", api_key: "a", labels: { team: "search" } },
      { name: "agents", api_key: "b" },
      { name: "batch", api_key: "c" },
    ],
    alerts: {
      receivers: [{ name: "chat", type: "webhook", url: "https://oncall.example/hook", match }],
      rules: [
        { name: "server-error", on: "server", status: "error" },
        { ...later, name: "late", escalate: [{ after: "1h", receivers: ["chat"] }] },
        { ...later, name: "never" },
      ],
    },
  });
  expect(configNotes(config)).toEqual([
    "nobody is notified of incidents of server-error in us/agents, us/batch, as no receiver of these rules matches them",
    "rule never has no receivers, so nobody is notified of its incidents",
  ]);
});

const search = { region: "us", key: "search" };

function reachSettings(receivers: readonly object[], more: object) {
  const url = "https://oncall.example/hook";
  return testConfig({
    regions: { us: { base_url: "https://sandboxes.example" } },
    keys: [
      { name: "search", api_key: "a", labels: { team: "search" } },
      { name: "agents", api_key: "b", labels: { team: "agents" } },
    ],
    probes: [{ name: "me", operation: "universes", keys: ["search"] }],
    alerts: {
      receivers: receivers.map((own, at) => ({ name: `r${at}`, type: "webhook", url, ...own })),
      ...more,
    },
  });
}

/** Those who are notified of the only incident of a rule in the target of `search`, in which this server is in error. */
function notifiedOf(rule: Rule, config: Config, server: Omit<ListedServer, "id" | "status">) {
  const options = { ...judgeBy([rule]), receivers: notifiedReceivers(config) };
  const at = { utcMs: startMs, monotonicMs: 0 };
  const fresh = { staleAfter: 1, restoredForMs: Infinity, nowUtcMs: startMs };
  const { state } = watchTarget({ id: 0, target: search, ...nothingKnown }, emptySnapshot, fresh);
  const servers = [{ ...server, id: "a", status: "error" }] as const;
  const { benchmark } = server;
  const box = { id: "box", status: "error", benchmark, createdAt: null, servers } as const;
  const listed = {
    kind: "listed",
    listing: readListing({ sandboxes: [box], complete: true }),
  } as const;
  const failed = { kind: "failed", reason: "timeout" } as const;
  const verdict = judgePoll(state, rule.on === "target" ? failed : listed, at, options);
  const { snapshot } = verdict;
  if (rule.on !== "pool") return verdict.incidents.outbox.map(({ receiver }) => receiver);
  const pools = watchPools({ rules: [rule], targets: [search], openIncidents: [], clocks: [] });
  const polled = { target: search, at, snapshot, whole: true };
  const judged = pools.judge(pools.observe(polled), options);
  return judged.outcome.incidents.outbox.map(({ receiver }) => receiver);
}

it("route says who is notified of what is judged, for random receivers and servers", () => {
  const some = (...values: readonly string[]) => fc.constantFrom(...values);
  const match = fc.record(
    {
      rule: some("server-error", "sandbox-error", "pool-*", "target-down"),
      severity: some("critical", "warning"),
      labels: fc.record({ team: some("search", "agents") }),
      server_name: some("github", "git*", "slack"),
      benchmark: some("b1", "b2"),
      tag: some("prod", "dev"),
    },
    { requiredKeys: [] },
  );
  const server = fc.record({
    name: some("github", "slack"),
    benchmark: fc.constantFrom("b1", "b2", null),
    tags: fc.subarray(["prod", "dev"]),
  });
  const rules = [
    { name: "server-error", on: "server", status: "error" },
    { name: "b1-error", on: "server", status: "error", match: { benchmark: "b1", tag: "prod" } },
    { name: "sandbox-error", on: "sandbox", status: "error" },
    { name: "pool-name", on: "pool", by: ["server_name"], error_ratio: { above: 0.5 } },
    { name: "pool-all", on: "pool", by: [], error_ratio: { above: 0.5 } },
    { name: "target-down", on: "target", failing: { polls: 1 } },
  ];
  fc.assert(
    fc.property(fc.array(match, { maxLength: 4 }), server, (matches, concerned) => {
      const config = reachSettings(
        matches.map((each) => ({ match: each })),
        { rules },
      );
      const { name: serverName, benchmark, tags } = concerned;
      const asked = { serverName, benchmark: benchmark ?? undefined, tags };
      const said = createReach(config)(search, asked, startMs);
      for (const rule of config.alerts.rules) {
        const reach = said.find((each) => each.rule === rule);
        const notified = notifiedOf(rule, config, concerned);
        expect([rule.name, reach?.steps[0]?.receivers ?? []]).toEqual([rule.name, notified]);
      }
    }),
    fixedCases(60),
  );
});

it("route names each receiver once", () => {
  const config = reachSettings([{}, {}], {
    escalate: [{ after: "15m", receivers: ["r1"] }],
    rules: [
      { name: "usual", on: "target", failing: { polls: 3 } },
      { name: "both", on: "target", failing: { polls: 3 }, receivers: ["r0", "r1"] },
    ],
  });
  const stepsOf = ({ steps }: ReturnType<ReturnType<typeof createReach>>[number]) =>
    steps.map(({ receivers }) => receivers);
  expect(createReach(config)(search, {}, startMs).map(stepsOf)).toEqual([
    [["r0"], ["r1"]],
    [["r0", "r1"], []],
  ]);
});

it("route and check-config include the probes of a target", () => {
  const config = reachSettings([{ match: { labels: { team: "agents" } } }], {
    rules: [{ name: "probe-failing", on: "probe", failing: { polls: 1 } }],
  });
  expect(createReach(config)(search, {}, startMs).map(({ rule }) => rule.name)).toEqual([
    "probe-failing",
  ]);
  expect(configNotes(config)).toEqual([
    "nobody is notified of incidents of probe-failing in us/search, as no receiver of these rules matches them",
  ]);
});

it("does not notify at once the receivers of an escalation that a rule has turned off", () => {
  const url = "https://oncall.example/hook";
  const config = testConfig({
    regions: { us: { base_url: "https://sandboxes.example" } },
    keys: [{ name: "search", api_key: "a" }],
    alerts: {
      receivers: ["chat", "boss"].map((name) => ({ name, type: "webhook", url })),
      escalate: [{ after: "1h", receivers: ["boss"] }],
      rules: [{ name: "server-error", on: "server", status: "error", escalate: [] }],
    },
  });
  expect(config.alerts.rules.map(({ receivers }) => receivers)).toEqual([["chat"]]);
});
