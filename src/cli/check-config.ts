import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import type { Environment } from "../config/resolve-references.ts";
import { ignoredNoProxyEntries } from "../config/schema-outbound.ts";
import { targetName, type Target } from "../fleet/model.ts";
import { counted, namesText } from "../fleet/text.ts";
import { intervalOf } from "../polling/ticker.ts";
import { configOption, readConfig } from "./options.ts";
import { reachOfTargets } from "./receiver-reach.ts";
import { receiverNotes } from "./receiver-notes.ts";
import type { Terminal } from "./terminal.ts";

export function addCheckConfig(program: Command, terminal: Terminal): void {
  program
    .command("check-config")
    .description("validate a configuration and report all errors")
    .addOption(configOption())
    .action(({ config: file }) => {
      const config = readConfig(file, terminal);
      const { regions, keys, probes, alerts } = config;
      const amounts = [
        counted(regions.size, "region"),
        counted(keys.length, "key"),
        counted(configuredTargets(config).length, "target"),
        counted(alerts.rules.length, "rule"),
        counted(alerts.receivers.length, "receiver"),
        counted(probes.length, "probe"),
        counted(alerts.maintenance.length, "maintenance window"),
        counted(config.reports.length, "report"),
      ];
      terminal.out(`${file} is valid: ${amounts.join(", ")}\n`);
      for (const line of reachLines(config)) terminal.out(`${line}\n`);
      for (const note of configNotes(config)) terminal.out(`note: ${note}\n`);
    });
}

/** Which receivers each target reaches at some time, if it depends on the target. Escalations are not among them. */
function reachLines(config: Config): readonly string[] {
  if (config.alerts.receivers.every((each) => each.type === "heartbeat" || !each.match)) return [];
  return reachOfTargets(config).map(({ target, receivers }) => {
    const names = receivers.length === 0 ? "nobody" : receivers.join(", ");
    return `${targetName(target)} reaches ${names}`;
  });
}

/** Notes on a valid configuration that is probably not what was meant. */
export function configNotes(
  config: Config,
  environment: Environment = process.env,
): readonly string[] {
  const { rules, receivers } = config.alerts;
  const notes = rateLimitNotes(config);
  notes.push(...noProxyNotes(config, environment), ...receiverNotes(config.alerts.receivers));
  if (config.probes.length > 0 && !rules.some(({ on }) => on === "probe")) {
    notes.push("there are probes but no rule on probes, so nobody is notified when one fails");
  }
  if (receivers.every(({ type }) => type === "heartbeat")) {
    return [...notes, "no receivers are configured, so nobody is notified"];
  }
  const quiet = rules.filter(({ receivers: atOnce, escalation = [] }) => {
    return atOnce.length + escalation.length === 0;
  });
  const unheard = Map.groupBy(
    reachOfTargets(config).filter((each) => each.unheard.length > 0),
    (each) => each.unheard.join(", "),
  );
  return [
    ...notes,
    ...Array.from(
      unheard,
      ([names, some]) =>
        `nobody is notified of incidents of ${names} in ${targetsText(some)}, as no receiver of these rules matches them`,
    ),
    ...quiet.map(
      ({ name }) => `rule ${name} has no receivers, so nobody is notified of its incidents`,
    ),
  ];
}

const mostNamed = 10;

function targetsText(some: readonly { readonly target: Target }[]): string {
  return namesText(
    some.map(({ target }) => targetName(target)),
    mostNamed,
  );
}

/** Others may know forms that are not known here, so they are no error. */
function noProxyNotes({ regions, alerts }: Config, environment: Environment): string[] {
  const routes = [alerts.outbound.route, ...[...regions.values()].map(({ route }) => route)];
  const ignored = ignoredNoProxyEntries(environment);
  if (ignored.length === 0 || routes.every(({ proxy }) => proxy === null)) return [];
  // An address with a password could be among them.
  const shown = ignored.map((each) =>
    /^[\w.*:[\]/-]{1,100}$/.test(each) && !each.includes("//") ? each : "one that is not shown",
  );
  return [
    `NO_PROXY has entries that are ignored, so the proxy is used there: ${shown.slice(0, 10).join(", ")}; allowed: host names, addresses and networks, each perhaps with a port, or *`,
  ];
}

function rateLimitNotes({ poll, probes, keys }: Config): string[] {
  const { schedule, rateLimit } = poll;
  const pollsPerMs = 1 / intervalOf(schedule);
  const perMs = new Map(keys.map(({ name, regions }) => [name, regions.length * pollsPerMs]));
  for (const { targets, schedule: each } of probes) {
    const runsPerMs = 1 / intervalOf(each);
    for (const { key } of targets) perMs.set(key, (perMs.get(key) ?? 0) + runsPerMs);
  }
  return Array.from(perMs).flatMap(([name, ofKey]) => {
    if (ofKey * rateLimit.perMs <= rateLimit.requests) return [];
    const [needed, allowed] = [ofKey, rateLimit.requests / rateLimit.perMs].map((each) =>
      Number((each * 60_000).toPrecision(3)),
    );
    return [
      `key ${name} needs ${needed} requests a minute, but poll.rate_limit allows ${allowed}: some will fail`,
    ];
  });
}
