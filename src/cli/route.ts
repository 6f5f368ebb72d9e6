import type { Command } from "commander";
import { configuredTargets } from "../config/configured-targets.ts";
import { ruleOnReceiver } from "../alerts/judge-receivers.ts";
import type { Rule } from "../alerts/rule.ts";
import type { Config } from "../config/config.ts";
import { notifiedReceivers } from "../config/notified-receivers.ts";
import { formatDuration } from "../fleet/text.ts";
import { targetName } from "../fleet/model.ts";
import { namesText } from "../fleet/text.ts";
import { readTime } from "../reports/time-range.ts";
import { utc } from "../reports/zone.ts";
import { wrongUse, type CommandError } from "./exit-codes.ts";
import { collected, configOption, readConfig } from "./options.ts";
import { jsonText } from "./output.ts";
import { createReach, type RuleReach } from "./receiver-reach.ts";
import type { Terminal } from "./terminal.ts";

interface RouteOptions {
  readonly config: string;
  readonly region: string;
  readonly key: string;
  readonly rule?: string;
  readonly server?: string;
  readonly benchmark?: string;
  readonly tag?: readonly string[];
  readonly at?: string;
  readonly json?: boolean;
}

export function addRoute(program: Command, terminal: Terminal): void {
  program
    .command("route")
    .description("show who would be notified of an incident, and when")
    .addOption(configOption())
    .requiredOption("--region <name>", "the region of the incident")
    .requiredOption("--key <name>", "the key of the incident")
    .option("--rule <name>", "only incidents of this rule")
    .option("--server <name>", "of a server with this name; otherwise of any server")
    .option("--benchmark <name>", "the benchmark of the server")
    .option("--tag <name>", "a tag of the server; can be repeated", collected)
    .option("--at <time>", "when it fires, such as 2026-11-28T22:00Z; otherwise now")
    .option("--json", "print JSON")
    .action((options: RouteOptions) => {
      const config = readConfig(options.config, terminal);
      const { region, key, server, benchmark, tag } = options;
      const target = { region, key };
      const known = configuredTargets(config).map(targetName);
      if (!known.includes(targetName(target))) {
        throw unknownName(targetName(target), "configured target", known);
      }
      const rules = rulesOf(config, options.rule);
      const nowMs = Date.now();
      const atMs = readTime(options.at ?? "now", { nowMs, zone: utc })?.fromMs;
      if (atMs === undefined) {
        throw wrongUse(`--at ${options.at} is no time; allowed: one such as 2026-11-28T22:00Z`);
      }
      const concerned = { serverName: server, benchmark, tags: tag };
      const reached = createReach(config, rules)(target, concerned, atMs);
      if (options.json) return terminal.out(jsonText({ rules: reached.map(viewReach) }));
      terminal.out(reached.map(reachText).join(""));
      if (reached.length === 0) terminal.out("No rule is about this.\n");
    });
}

/** The configured rules, or the one of this name, which may be built in. */
function rulesOf(config: Config, name: string | undefined): readonly Rule[] {
  const { rules } = config.alerts;
  if (name === undefined) return rules;
  const known = [...rules, ruleOnReceiver(notifiedReceivers(config), null)];
  const named = known.filter((rule) => rule.name === name);
  if (named.length > 0) return named;
  throw unknownName(
    name,
    "rule",
    known.map((rule) => rule.name),
  );
}

const mostNamed = 10;

function unknownName(name: string, what: string, known: readonly string[]): CommandError {
  return wrongUse(`${name} is no ${what}; there are ${namesText(known, mostNamed)}`);
}

function viewReach({ rule, steps }: RuleReach) {
  return {
    rule: rule.name,
    severity: rule.severity,
    steps: steps.map(({ afterMs, receivers, closed }) => ({
      after_seconds: afterMs / 1_000,
      receivers,
      when_hours_begin: closed,
    })),
  };
}

function reachText({ rule, steps }: RuleReach): string {
  const lines = steps.map(({ afterMs, receivers, closed }) => {
    const when = afterMs === 0 ? "at once" : `after ${formatDuration(afterMs)}`;
    const later = closed.length === 0 ? "" : `${closed.join(", ")} when its hours begin`;
    const others = rule.on === "receiver" ? " (but for the one that fails)" : "";
    const who = [receivers.join(", "), later].filter((part) => part !== "").join("; ");
    return `  ${when.padEnd(12)}  ${who === "" ? "nobody" : who + others}\n`;
  });
  return `${rule.name} (${rule.severity})\n${lines.join("")}`;
}
