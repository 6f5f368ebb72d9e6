import type { Fault } from "../../src/simulator/faults.ts";

export const regions = ["us", "eu", "ap"];
export const keys = ["research", "production", "key-3"];

export interface Places {
  /** The base address of each region. */
  readonly services: ReadonlyMap<string, string>;
  readonly sink: string;
  readonly port: number;
  readonly store: string;
}

type Section = Record<string, unknown>;

/** What the daemon runs with where it is measured. */
function usual({ services, sink, port, store }: Places) {
  const message = { give_up_after: "1h", max_incidents: 1_000, group_wait: "1s" };
  const others = ["oncall", "grouped", "instances"];
  const regionsOf: Section = Object.fromEntries(
    Array.from(services, ([name, base_url]) => [name, { base_url }]),
  );
  return {
    regions: regionsOf,
    keys: keys.map((name): Section => ({ name, api_key: `simulated-${name}` })),
    poll: { every: "3s", timeout: "2s", rate_limit: { requests: 6, per: "1s" } } as Section,
    probes: [
      { name: "worlds", operation: "universes", every: "5s", expect: { at_least: 1 } },
    ] as Section[],
    store: { path: store },
    http: { listen: `127.0.0.1:${port}` },
    log: { level: "info", format: "json" } as Section,
    metrics: { per_server: "on" } as Section,
    alerts: {
      rules: [
        // Slack takes a message a second.
        { name: "server-error", on: "server", status: "error", receivers: others },
        { name: "target-down", on: "target", failing: { polls: 3 } },
        { name: "region-down", on: "region", failing: { polls: 2 } },
        { name: "pool-full", on: "pool", occupied_ratio: { above: 0.5 }, receivers: others },
        { name: "probe-failing", on: "probe", failing: { polls: 2 } },
      ] as Section[],
      receivers: [
        { name: "oncall", type: "webhook", url: `${sink}/oncall`, ...message, group_wait: "0s" },
        { name: "grouped", type: "webhook", url: `${sink}/grouped`, ...message },
        { name: "channel", type: "slack", url: `${sink}/slack`, give_up_after: "1h" },
        { name: "instances", type: "alertmanager", urls: [`${sink}/alertmanager`] },
        { name: "watchdog", type: "heartbeat", url: `${sink}/heartbeat`, every: "10s" },
      ] as Section[],
    },
  };
}

type Settings = ReturnType<typeof usual>;

/** What somebody changes before a reload. The last one is refused. */
const changes: readonly ((settings: Settings) => unknown)[] = [
  ({ poll }) => (poll["every"] = "2s"),
  ({ keys: all }) => all.pop(),
  ({ regions: all }) => delete all["ap"],
  ({ metrics }) => (metrics["per_server"] = "off"),
  ({ probes, alerts }) => [probes.pop(), alerts.rules.pop()],
  ({ alerts }) => alerts.rules.splice(0, 1),
  ({ alerts }) => alerts.receivers.splice(2, 1),
  ({ log }) => (log["level"] = "debug"),
  ({ poll }) => (poll["every"] = "never"),
];

export const configurations = changes.length;

/** @param change which one of the changes; null: none */
export function configurationText(places: Places, change: number | null): string {
  const settings = usual(places);
  if (change !== null) changes[change]?.(settings);
  // YAML takes JSON as it is.
  return JSON.stringify(settings);
}

/**
 * What goes wrong at the service all the time, and in bursts that are long enough for incidents.
 *
 * @param from seconds since the service was started, as `until`
 */
export function faultsFor(from: number, until: number, random: () => number): readonly Fault[] {
  const always: readonly Fault[] = [
    { kind: "latency", ms: 300, probability: 0.1 },
    { kind: "latency", ms: 1_500, probability: 0.02 },
    { kind: "slow", bytes_per_second: 20_000, probability: 0.02 },
    { kind: "hang", probability: 0.01 },
    { kind: "hang", when: "body", probability: 0.01 },
    { kind: "reset", probability: 0.02 },
    { kind: "reset", when: "body", after_bytes: 2_000, probability: 0.02 },
    { kind: "truncate", after_bytes: 5_000, probability: 0.02 },
    { kind: "malformed", probability: 0.02 },
    { kind: "partial", share: 0.2, probability: 0.02 },
    { kind: "odd", probability: 0.02 },
    { kind: "status", status: 500, probability: 0.02 },
    { kind: "status", status: 503, retry_after: 1, probability: 0.01 },
    { kind: "status", status: 429, retry_after: 1, probability: 0.02 },
  ];
  const bursts: Fault[] = [];
  const kinds: readonly Fault[] = [
    { kind: "status", status: 503 },
    { kind: "status", status: 429, retry_after: 2 },
    { kind: "status", status: 401 },
    { kind: "malformed" },
    { kind: "hang" },
    { kind: "reset" },
    { kind: "vanish", share: 0.5 },
  ];
  const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)];
  for (let at = from + 5; at < until - 10; at += 10 + random() * 20) {
    const kind = pick(kinds);
    const region = pick(regions);
    const key = random() < 0.5 ? {} : { key: pick(keys) };
    const length = 5 + random() * 15;
    if (kind && region) {
      bursts.push({ ...kind, region, ...key, from: at, until: Math.min(at + length, until) });
    }
  }
  return [...always, ...bursts];
}
