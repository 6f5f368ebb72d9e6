import type { Command } from "commander";
import { counted } from "../fleet/counted.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { configNotes } from "./config-notes.ts";
import { configOption, readConfig } from "./options.ts";
import type { Terminal } from "./terminal.ts";

export function addCheckConfig(program: Command, terminal: Terminal): void {
  program
    .command("check-config")
    .description("validate a configuration and report all errors")
    .addOption(configOption())
    .action(({ config: file }: { readonly config: string }) => {
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
