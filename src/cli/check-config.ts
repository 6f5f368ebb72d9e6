import type { Command } from "commander";
import { counted } from "../fleet/counted.ts";
import { configNotes } from "./config-notes.ts";
import { configOption } from "./options.ts";
import { readConfig } from "./read-config.ts";
import type { Terminal } from "./terminal.ts";

export function addCheckConfig(program: Command, terminal: Terminal): void {
  program
    .command("check-config")
    .description("validate a configuration and report all faults")
    .addOption(configOption())
    .action((options: { readonly config: string }) => checkConfig(options, terminal));
}

function checkConfig(options: { readonly config: string }, terminal: Terminal): void {
  const config = readConfig(options.config, terminal);
  const { regions, keys, probes, alerts } = config;
  const targets = keys.reduce((sum, key) => sum + key.regions.length, 0);
  const amounts = [
    counted(regions.size, "region"),
    counted(keys.length, "key"),
    counted(targets, "target"),
    ...(probes.length > 0 ? [counted(probes.length, "probe")] : []),
    counted(alerts.rules.length, "rule"),
    counted(alerts.receivers.length, "receiver"),
    ...(alerts.maintenance.length > 0
      ? [counted(alerts.maintenance.length, "maintenance window")]
      : []),
  ];
  terminal.out(`${options.config} is valid: ${amounts.join(", ")}\n`);
  for (const note of configNotes(config)) terminal.out(`note: ${note}\n`);
}
