import { describe, expect, it } from "vitest";
import { parseNetwork } from "../../src/lib/networks.ts";
import { parseConfig } from "../../src/config/load-config.ts";
import { configNotes } from "../../src/cli/config-notes.ts";
import { configOf, faultLines } from "./support.ts";

const smallest = {
  regions: { us: { base_url: "https://us.example.com" } },
  keys: [{ name: "research", api_key: "k1" }],
};
const alertmanager = { name: "am", type: "alertmanager", urls: ["https://am.example.com"] };
const heartbeat = { name: "watchdog", type: "heartbeat", url: "https://hc.example.com/x" };
const oncall = { name: "oncall", type: "webhook", url: "https://hooks.example.com/x" };

const withReceivers = (...receivers: readonly object[]) => ({ ...smallest, alerts: { receivers } });
const withOutbound = (outbound: unknown) => ({ ...smallest, alerts: { outbound } });

const addressAllowed =
  "an https address without user, password, query and fragment, such as https://alertmanager.example.com";
const networkAllowed = "a network such as 10.0.0.0/8 or fd00::/8, or one address";
const encrypted = "https, or a loopback address, or allow_http: true beside it";

describe("an Alertmanager", () => {
  it("is told of everything, at once, at the addresses of its instances", () => {
    const urls = ["https://am.example.com/base/", "http://127.0.0.1:9093"];
    const config = configOf(
      parseConfig(withReceivers({ ...alertmanager, urls, bearer_token: "token" })),
    );
    const [receiver] = config.alerts.receivers;
    expect(receiver).toMatchObject({ groupWaitMs: 0, sendResolved: true, generatorUrl: null });
    if (receiver?.type !== "alertmanager") throw new TypeError(receiver?.type);
    expect(receiver.urls.map((url) => url.reveal())).toEqual([
      "https://am.example.com/base",
      "http://127.0.0.1:9093",
    ]);
    expect(receiver.bearerToken?.reveal()).toBe("token");
  });

  it.each<[string, object, string]>([
    [
      "no instance",
      { urls: [] },
      "urls: found an empty list; allowed: the address of at least one instance",
    ],
    [
      "one address alone",
      { urls: "https://am.example.com" },
      "urls: found text; allowed: a list of the addresses of all instances",
    ],
    [
      "an address with a query",
      { urls: ["https://am.example.com/?x"] },
      `urls[0]: found a value that is not shown; allowed: ${addressAllowed}`,
    ],
    [
      "an address in the clear",
      { urls: ["https://am.example.com", "http://am.example.com"] },
      `urls[1]: found a value that is not shown, which is not encrypted; allowed: ${encrypted}`,
    ],
    [
      "an address twice",
      { urls: ["https://am.example.com", "https://am.example.com"] },
      "urls[1]: found a value that is not shown, the same as alerts.receivers[0].urls[0]; allowed: each once",
    ],
    [
      "a token with a blank",
      { bearer_token: "a b" },
      "bearer_token: found a value that is not shown; allowed: a token of visible ASCII characters without blanks (numbers quoted), or bearer_token_file beside it",
    ],
    [
      "grouping of its own",
      { group_by: ["rule"] },
      "group_by: found an unknown setting; allowed: name, type, urls, allow_http, give_up_after, bearer_token, generator_url, bearer_token_file",
    ],
  ])("with %s is a fault", (_, more, line) => {
    const value = withReceivers({ ...alertmanager, ...more });
    expect(faultLines(parseConfig(value))).toEqual([`alerts.receivers[0].${line}`]);
  });
});

describe("a heartbeat", () => {
  it("pings once a minute by GET, and is told by no rule", () => {
    const config = configOf(parseConfig(withReceivers(oncall, heartbeat)));
    expect(config.alerts.receivers[1]).toMatchObject({ everyMs: 60_000, method: "GET" });
    const told = new Set(config.alerts.rules.flatMap(({ receivers }) => receivers));
    expect([...told]).toEqual(["oncall"]);
    expect(configNotes(config)).toEqual([]);
  });

  it("alone alerts nobody", () => {
    const config = configOf(parseConfig(withReceivers(heartbeat)));
    expect(configNotes(config)).toEqual(["there are no receivers, so nobody will be alerted"]);
  });

  it("cannot be named by a rule", () => {
    const rules = [{ name: "a", on: "server", status: "error", receivers: ["watchdog"] }];
    const value = { ...smallest, alerts: { rules, receivers: [oncall, heartbeat] } };
    expect(faultLines(parseConfig(value))).toEqual([
      'alerts.rules[0].receivers[0]: found "watchdog", which is a heartbeat; allowed: a receiver of another type: a heartbeat gets no notifications',
    ]);
  });

  it.each<[string, object, string]>([
    [
      "too often",
      { every: "9s" },
      'every: found "9s"; allowed: a duration such as 30s or 1h30m, from 10s to 1d',
    ],
    ["by another method", { method: "PUT" }, 'method: found "PUT"; allowed: GET, POST'],
  ])("%s is a fault", (_, more, line) => {
    const value = withReceivers({ ...heartbeat, ...more });
    expect(faultLines(parseConfig(value))).toEqual([`alerts.receivers[0].${line}`]);
  });
});

describe("outbound networks", () => {
  it("are all but those that are always denied, unless the configuration says otherwise", () => {
    const { outbound } = configOf(parseConfig(smallest)).alerts;
    expect(outbound).toEqual({ deny: [], allow: null });
  });

  it("are read as networks and single addresses", () => {
    const outbound = { deny_networks: ["10.0.0.0/8"], allow_networks: ["::1", "0.0.0.0/0"] };
    expect(configOf(parseConfig(withOutbound(outbound))).alerts.outbound).toEqual({
      deny: [parseNetwork("10.0.0.0/8")],
      allow: [parseNetwork("::1/128"), parseNetwork("0.0.0.0/0")],
    });
  });

  it.each<[string, unknown, string]>([
    [
      "a name",
      { deny_networks: ["example.com"] },
      `deny_networks[0]: found "example.com"; allowed: ${networkAllowed}`,
    ],
    [
      "bits after the prefix",
      { deny_networks: ["10.1.2.3/8"] },
      `deny_networks[0]: found "10.1.2.3/8"; allowed: ${networkAllowed}`,
    ],
    [
      "one network alone",
      { deny_networks: "10.0.0.0/8" },
      "deny_networks: found text; allowed: a list of networks",
    ],
    [
      "an empty list of what is allowed",
      { allow_networks: [] },
      "allow_networks: found an empty list; allowed: at least one network; omit the setting for all",
    ],
    [
      "what is always denied",
      { allow_networks: ["169.254.169.254"] },
      `allow_networks[0]: found "169.254.169.254"; allowed: ${networkAllowed}, that is not always denied (link-local, multicast, metadata services)`,
    ],
    [
      "an unknown setting",
      { allow_network: [] },
      'allow_network: found an unknown setting; allowed: deny_networks, allow_networks; did you mean "allow_networks"?',
    ],
  ])("with %s are a fault", (_, outbound, line) => {
    expect(faultLines(parseConfig(withOutbound(outbound)))).toEqual([`alerts.outbound.${line}`]);
  });
});
