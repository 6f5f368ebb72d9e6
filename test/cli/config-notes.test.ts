import { expect, it } from "vitest";
import { configNotes } from "../../src/cli/config-notes.ts";
import { testConfig } from "../support/test-config.ts";

function notesOn(
  poll: object,
  receivers: readonly object[] = [],
  alerts: object = {},
  probes: readonly object[] = [],
  history: object = {},
): readonly string[] {
  const base_url = "https://sandboxes.example";
  return configNotes(
    testConfig({
      regions: { us: { base_url }, eu: { base_url }, ap: { base_url } },
      keys: [
        { name: "research", api_key: "a" },
        { name: "training", api_key: "b", regions: ["us"] },
      ],
      poll,
      probes,
      history,
      alerts: { receivers, ...alerts },
    }),
  );
}

const oncall = { name: "oncall", type: "webhook", url: "https://oncall.example/hook" };

it.each([
  { every: "30s" },
  { schedule: "*/2 * * * * *" },
  { every: "3s", rate_limit: { requests: 1, per: "1s" } },
])("there is nothing to say of a limit that suffices: %j", (poll) => {
  expect(notesOn(poll, [oncall])).toEqual([]);
});

it.each([
  [{ every: "1s" }, "2 requests per 1s", "3 polls every 1s"],
  [{ schedule: "* * * * * *" }, "2 requests per 1s", "3 polls every 1s"],
  [
    { every: "3s", rate_limit: { requests: 1, per: "1500ms" } },
    "1 requests per 1s500ms",
    "3 polls every 3s",
  ],
])("a key that has more polls than its limit allows is noted: %j", (poll, allowed, wanted) => {
  expect(notesOn(poll, [oncall])).toEqual([
    `key research would need ${wanted}, but poll.rate_limit allows ${allowed}: some polls will fail`,
  ]);
});

it("that nobody would be alerted is noted", () => {
  expect(notesOn({ every: "30s" })).toEqual(["there are no receivers, so nobody will be alerted"]);
});

it("a rule of which nobody is told is noted", () => {
  const rules = [
    { name: "told", on: "server", status: "error" },
    { name: "untold", on: "server", status: "unknown", receivers: [] },
  ];
  expect(notesOn({ every: "30s" }, [oncall], { rules })).toEqual([
    "rule untold has no receivers, so nobody will be notified of it",
  ]);
});

it("a maintenance window about what the configuration does not have is noted", () => {
  const window = { name: "deploy", start: "0 2 * * *", duration: "1h" };
  const notesOf = (match: object) =>
    notesOn({ every: "30s" }, [oncall], { maintenance: [{ ...window, match }] });
  expect(notesOf({ region: "e*", rule: "target-*", key: ["train*"] })).toEqual([]);
  expect(notesOf({ region: "us-*", server_name: "git*" })).toEqual([
    'maintenance window deploy: no region is called "us-*", there are: us, eu, ap',
  ]);
});

it("probes on which there is no rule are noted", () => {
  const probes = [{ name: "login", operation: "user", id: "a" }];
  const rules = [{ name: "failing", on: "probe", failing: { polls: 3 } }];
  const every = { every: "30s" };
  expect(notesOn(every, [oncall], {}, probes)).toEqual([
    "there are probes but no rule on them, so nobody will be notified when one fails",
  ]);
  expect(notesOn(every, [oncall], { rules }, probes)).toEqual([]);
});

it("a key that has more calls to make than its limit allows is noted, probes included", () => {
  const probes = [
    { name: "login", operation: "user", id: "a", every: "2s" },
    { name: "worlds", operation: "universes", every: "60s", regions: ["us"] },
  ];
  const rules = [{ name: "failing", on: "probe", failing: { polls: 3 } }];
  expect(notesOn({ every: "3s" }, [oncall], { rules }, probes)).toEqual([
    "key research would need 3 polls every 3s and 91 runs of probes a minute, but poll.rate_limit allows 2 requests per 1s: some of them will fail",
  ]);
});

it("what is kept longer in a finer resolution than in a coarser one is noted", () => {
  const notesOf = (history: object) => notesOn({ every: "30s" }, [oncall], {}, [], history);
  expect(notesOf({})).toEqual([]);
  expect(notesOf({ "5m": "30d", "1h": "30d", "1d": "30d" })).toEqual([]);
  expect(notesOf({ "5m": "1d12h", "1h": "1d", "1d": "forever" })).toEqual([
    "history.5m is kept longer (1d12h) than history.1h (1d)",
  ]);
  expect(notesOf({ "5m": "forever", "1h": "forever", "1d": "400d" })).toEqual([
    "history.5m is kept longer (forever) than history.1d (400d)",
    "history.1h is kept longer (forever) than history.1d (400d)",
  ]);
});
