import { describe, expect, it } from "vitest";
import { Places, Recipients } from "../../src/alerts/recipients.ts";
import type { ConfiguredReceiver, ReceiverRoute } from "../../src/alerts/recipients.ts";
import type { Rule } from "../../src/alerts/rule.ts";
import type { Subject } from "../../src/alerts/subjects.ts";
import { research } from "../support/fleet.ts";
import { broken, createReader, createWatch, inPolls, regionRule } from "./support/watch.ts";
import { serverRule, showing, targetRule, type Watch } from "./support/watch.ts";

describe("routing", () => {
  const receivers = { all: true, team: true };
  const rules = [
    serverRule({ receivers: ["all", "team"] }),
    targetRule({ receivers: ["all", "team"], for: inPolls(1) }),
  ];
  const namesFor = (route: ReceiverRoute, see: (watch: Watch) => unknown) => {
    const watch = createWatch({ rules, receivers, routing: { team: { route } } });
    see(watch);
    return watch.outbox.map(({ receiver }) => receiver);
  };
  const both = ["all", "team"];
  const here = new Places([research]);
  const elsewhere = new Places([
    { region: "eu", key: "research" },
    { region: "us", key: "x" },
  ]);
  const server =
    (more: Parameters<typeof showing>[2] = {}) =>
    (watch: Watch) =>
      watch.see(showing("error", "a", more));

  it.each<readonly [ReceiverRoute, Parameters<typeof showing>[2], readonly string[]]>([
    [{ places: here, match: {} }, {}, both],
    [{ places: elsewhere, match: {} }, {}, ["all"]],
    [{ places: null, match: { server_name: ["git*"] } }, {}, both],
    [{ places: null, match: { server_name: ["slack"] } }, {}, ["all"]],
    [{ places: null, match: { server_name: ["slack"] } }, { name: null }, ["all"]],
    [{ places: null, match: { benchmark: ["b1"] } }, { benchmark: "b1" }, both],
    [{ places: null, match: { benchmark: ["b1"] } }, {}, ["all"]],
    [{ places: null, match: { tag: ["prod"] } }, { tags: ["x", "prod"] }, both],
    [{ places: null, match: { tag: ["prod"] } }, {}, ["all"]],
    [{ places: null, match: { severity: ["critical"] } }, {}, both],
    [{ places: null, match: { severity: ["warning"] } }, {}, ["all"]],
    [{ places: null, match: { rule: ["server-*"], server_name: ["github"] } }, {}, both],
    [{ places: null, match: { rule: ["target-down"] } }, {}, ["all"]],
  ])("of a server by %o", (route, more, expected) => {
    expect(namesFor(route, server(more))).toEqual(expected);
  });

  it("notifies of a target the receivers of some of its servers", () => {
    const fail = (watch: Watch) => watch.fail();
    expect(namesFor({ places: here, match: { server_name: ["slack"], tag: ["x"] } }, fail)).toEqual(
      both,
    );
    expect(namesFor({ places: elsewhere, match: {} }, fail)).toEqual(["all"]);
  });

  it("takes a receiver for informed only if it is notified of what inhibits an incident", () => {
    const route = { places: null, match: { rule: ["server-error"] } };
    const watch = createWatch({ rules, receivers, routing: { team: { route } } });
    const sent = createReader(watch);
    watch.fail();
    expect(sent()).toEqual(["all firing incident-1"]);
    watch.see(broken);
    expect(sent()).toEqual([
      "all resolved incident-1",
      "all firing incident-2",
      "team firing incident-2",
    ]);
  });
});

const pool: Rule = {
  ...targetRule(),
  on: "pool",
  of: "servers",
  by: [],
  measure: "error_ratio",
  side: "above",
  limit: 0,
  forMs: 0,
};

it.each<readonly [string, Rule, Subject]>([
  ["a region", regionRule({ match: { key: ["research"] } }), { kind: "region", region: "us" }],
  [
    "all keys",
    { ...pool, match: { region: ["us"], key: ["research"] } },
    { kind: "pool", region: null, key: null, serverName: null },
  ],
])("of %s are notified the receivers of a target that the rule is about", (_, rule, subject) => {
  const always = { sendResolved: true, sendAcknowledged: false };
  const routes = {
    ours: [research],
    others: [
      { region: "us", key: "other" },
      { region: "eu", key: "research" },
    ],
  };
  const receivers = new Map<string, ConfiguredReceiver>(
    Object.entries(routes).map(([name, targets]) => [
      name,
      { ...always, route: { places: new Places(targets), match: {} } },
    ]),
  );
  const recipients = new Recipients(receivers, null, 0, new Map());
  const named = { ...rule, receivers: ["ours", "others"] };
  expect(recipients.informed(named, subject)).toEqual(["ours"]);
  expect(recipients.informed({ ...named, match: {} }, subject)).toEqual(["ours", "others"]);
});

it("nobody is waited for whom the match of the target or of the rule excludes, so that incidents need not be judged again", () => {
  const rule = serverRule({ receivers: ["all", "here", "elsewhere", "others"] });
  const always = { sendResolved: true, sendAcknowledged: false };
  const elsewhere = new Places([{ region: "eu", key: "x" }]);
  const routed = (route: ReceiverRoute) => ({ ...always, route });
  const receivers = new Map<string, ConfiguredReceiver>([
    ["all", { ...always, isOpenAt: () => true }],
    ["here", routed({ places: new Places([research]), match: {} })],
    ["elsewhere", routed({ places: elsewhere, match: {} })],
    ["others", routed({ places: null, match: { rule: ["target-down"] } })],
  ]);
  const recipients = new Recipients(receivers, research, 0, new Map());
  const watch = createWatch({ rules: [rule], receivers: { all: true } });
  watch.see(broken);
  const [incident] = watch.state.incidents.values();
  const mayJoin = (names: readonly string[]) =>
    incident && recipients.mayJoin(rule, { ...incident, receivers: names });
  expect(mayJoin(["all", "here"])).toBe(false);
  expect(mayJoin(["all"])).toBe(true);
});
