import { configNotes } from "./config-notes.ts";
import { readConfig } from "./read-config.ts";
import type { Terminal } from "./terminal.ts";

/** Validates a configuration and says what it amounts to. */
export function checkConfig(options: { readonly config: string }, terminal: Terminal): void {
  const config = readConfig(options.config, terminal);
  const { regions, keys, probes, alerts } = config;
  const targets = keys.reduce((sum, key) => sum + key.regions.length, 0);
  const amounts = [
    count(regions.size, "region"),
    count(keys.length, "key"),
    count(targets, "target"),
    ...(probes.length > 0 ? [count(probes.length, "probe")] : []),
    count(alerts.rules.length, "rule"),
    count(alerts.receivers.length, "receiver"),
    ...(alerts.maintenance.length > 0
      ? [count(alerts.maintenance.length, "maintenance window")]
      : []),
  ];
  terminal.out(`${options.config} is valid: ${amounts.join(", ")}\n`);
  for (const note of configNotes(config)) terminal.out(`note: ${note}\n`);
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? "" : "s"}`;
}
