import type { Command } from "commander";
import { matchNotes } from "../api/notes.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { resolutions } from "../fleet/buckets.ts";
import { counted } from "../fleet/counted.ts";
import { formatDuration } from "../fleet/duration.ts";
import { intervalOf } from "../polling/ticker.ts";
import { configOption, readConfig } from "./options.ts";
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
      ];
      terminal.out(`${file} is valid: ${amounts.join(", ")}\n`);
      for (const note of configNotes(config)) terminal.out(`note: ${note}\n`);
    });
}

/** Notes on a valid configuration that is probably not what was meant. */
export function configNotes(config: Config): readonly string[] {
  const { keys, probes, alerts } = config;
  const hasProbeRule = alerts.rules.some(({ on }) => on === "probe");
  return [
    ...keys.flatMap((key) => rateLimitNotes(config, key)),
    ...(probes.length > 0 && !hasProbeRule
      ? ["there are probes but no rule on probes, so nobody is notified when one fails"]
      : []),
    ...receiverNotes(config),
    ...maintenanceNotes(config),
    ...historyNotes(config),
  ];
}

function rateLimitNotes(config: Config, key: Config["keys"][number]): readonly string[] {
  const { schedule, rateLimit } = config.poll;
  const { requests, perMs } = rateLimit;
  const intervalMs = intervalOf(schedule);
  const runsPerMs = probeRunsPerMs(config, key.name);
  if ((key.regions.length / intervalMs + runsPerMs) * perMs <= requests) return [];
  const polls = `${key.regions.length} polls every ${formatDuration(intervalMs)}`;
  const runs = `${Number((runsPerMs * 60_000).toPrecision(3))} runs of probes a minute`;
  const allowed = `${requests} requests per ${formatDuration(perMs)}`;
  return [
    `key ${key.name} would need ${polls} and ${runs}, but poll.rate_limit allows ${allowed}: some will fail`,
  ];
}

/** How often probes call the service with a key. */
function probeRunsPerMs({ probes }: Config, key: string): number {
  return probes.reduce((sum, { targets, schedule }) => {
    const runs = targets.filter((target) => target.key === key).length;
    return runs === 0 ? sum : sum + runs / intervalOf(schedule);
  }, 0);
}

function receiverNotes({ alerts: { receivers, rules } }: Config): readonly string[] {
  if (receivers.every(({ type }) => type === "heartbeat")) {
    return ["no receivers are configured, so nobody is notified"];
  }
  return rules
    .filter((rule) => rule.receivers.length === 0)
    .map(({ name }) => `rule ${name} has no receivers, so nobody is notified of its incidents`);
}

/** A name without * that nothing has is an error; patterns are only noted. */
function maintenanceNotes(config: Config): readonly string[] {
  const { probes, alerts } = config;
  const known = {
    rules: alerts.rules,
    receivers: alerts.receivers.map(({ name }) => name),
    targets: configuredTargets(config).map((target) => ({ target })),
    probes: probes.map(({ name }) => ({ subject: { probe: name } })),
  };
  return alerts.maintenance.flatMap(({ name, match }) =>
    matchNotes(known, match).map((note) => `maintenance window ${name}: ${note}`),
  );
}

/** Coarser buckets need less space: it is hardly meant that they are deleted first. */
function historyNotes({ history: { buckets } }: Config): readonly string[] {
  return resolutions.flatMap((finer, index) =>
    resolutions
      .slice(index + 1)
      .filter((coarser) => (buckets[coarser] ?? Infinity) < (buckets[finer] ?? Infinity))
      .map((coarser) => `history.${finer} is kept longer than history.${coarser}`),
  );
}
