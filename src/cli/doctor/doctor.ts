import type { Command } from "commander";
import type { Config } from "../../config/config.ts";
import { configuredTargets } from "../../config/configured-targets.ts";
import { counted } from "../../fleet/text.ts";
import { systemClock } from "../../lib/clock.ts";
import { localAddress } from "../../lib/listen-address.ts";
import { printableLine } from "../../lib/printable.ts";
import { wrapText } from "../table.ts";
import { StoreError } from "../../store/store-error.ts";
import { isConfiguredInUse } from "../../store/store.ts";
import type { StoreSettings } from "../../store/store-settings.ts";
import { runningApi } from "../call-api.ts";
import { configNotes } from "../check-config.ts";
import { CommandError } from "../exit-codes.ts";
import { lookOf, type Color, type Look } from "../look.ts";
import { configOption, readConfig } from "../options.ts";
import { jsonText } from "../output.ts";
import type { Terminal } from "../terminal.ts";
import { checkDaemon } from "./check-daemon.ts";
import { describeGrowth, readStore } from "./check-history.ts";
import { checkReceivers } from "./check-receivers.ts";
import { checkClock, checkKeys, describeVisit, visit } from "./check-regions.ts";
import { checkProcesses } from "./check-processes.ts";
import { checkConfiguredStore } from "./check-store.ts";
import { mapSome, type Finding, type Level, type Section } from "./finding.ts";

/** What is not checked by then is reported as not checked. */
const longestMs = 60_000;
const visitsAtOnce = 10;
/** Of one subject, worst first. */
const mostShown = 20;

export function addDoctor(program: Command, terminal: Terminal): void {
  program
    .command("doctor")
    .description(
      "check everything that sandwatch needs, and say what to do; lists sandboxes once with each key, and sends nothing to receivers",
    )
    .addOption(configOption())
    .option("--json", "print JSON")
    .action(async ({ config, json }) => {
      const sections: Section[] = [];
      const look = lookOf(terminal);
      await examine(config, terminal, (section) => {
        sections.push(section);
        if (!json) terminal.out(sectionText(section, look));
      });
      const all = sections.flatMap(({ findings }) => findings);
      const summary = summaryOf(all);
      if (json) terminal.out(jsonText({ summary, sections }));
      if (all.some(({ level }) => level === "failure")) throw new CommandError(summary);
      if (!json) terminal.out(`${look.paint("green", summary)}\n`);
    });
}

async function examine(
  file: string,
  terminal: Terminal,
  report: (section: Section) => void,
): Promise<void> {
  const config = readConfig(file, terminal);
  report({ title: "configuration", findings: checkConfiguration(file, config) });
  const ofStore = await checkConfiguredStore(config.store);
  const read = await readStore(config);
  const growth = read && describeGrowth(read.changesADay, config.history.changes);
  report({ title: "store", findings: [...ofStore, ...(growth ? [growth] : [])] });

  const signal = AbortSignal.timeout(longestMs);
  const api = config.http.port === 0 ? null : runningApi({ config: file }, terminal, signal);
  const daemon = await checkDaemon(api, localAddress(config.http), await hasDaemon(config.store));
  report({ title: "daemon", findings: daemon });

  const { regions } = config;
  const visits = new Map(
    await mapSome([...regions], visitsAtOnce, async ([name, region]) => {
      return [name, await visit(region, signal)] as const;
    }),
  );
  report({ title: "clock", findings: checkClock(visits) });
  const processes = await checkProcesses(read?.processes ?? [], config, signal);
  if (processes.length > 0) report({ title: "processes", findings: processes });
  const deadlineMs = systemClock.now().monotonicMs + longestMs / 2;
  const isReachable = (region: string): boolean => visits.get(region)?.kind === "visited";
  const [keys, receivers] = await Promise.all([
    checkKeys(config, isReachable, { deadlineMs, signal }),
    checkReceivers(config.alerts.receivers, config.alerts.outbound, signal),
  ]);
  for (const [region, visited] of visits) {
    const found = describeVisit(visited, systemClock.now().utcMs);
    const findings = [...found, ...(keys.get(region) ?? [])];
    report({ title: `region ${region}`, findings });
  }
  if (receivers.length > 0) report({ title: "receivers", findings: receivers });
}

/** A store that cannot be looked at is reported as such before. */
async function hasDaemon(store: StoreSettings): Promise<boolean> {
  try {
    return await isConfiguredInUse(store);
  } catch (error) {
    if (error instanceof StoreError) return false;
    throw error;
  }
}

function checkConfiguration(file: string, config: Config): readonly Finding[] {
  const targets = counted(configuredTargets(config).length, "target");
  const receivers = counted(config.alerts.receivers.length, "receiver");
  return [
    { level: "ok", text: `${file} is valid: ${targets}, ${receivers}` },
    ...configNotes(config).map((text): Finding => ({ level: "warning", text })),
  ];
}

const levels: Readonly<Record<Level, { readonly label: string; readonly color?: Color }>> = {
  failure: { label: "FAIL", color: "red" },
  warning: { label: "warn", color: "yellow" },
  note: { label: "note" },
  ok: { label: "ok", color: "green" },
};
const order = Object.keys(levels);

function sectionText({ title, findings }: Section, look: Look): string {
  const sorted = findings.toSorted((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
  const lines = sorted.slice(0, mostShown).flatMap(({ level, text, mend = "" }) => {
    const { label, color } = levels[level];
    const shown = color ? look.paint(color, label) : label;
    const [first = "", ...rest] = [text, mend]
      .filter((each) => each !== "")
      .flatMap((each) => linesOf(each, look.width));
    return [
      `  ${shown}${" ".repeat(6 - label.length)}${first}`,
      ...rest.map((each) => indent + each),
    ];
  });
  const more = sorted.length - mostShown;
  if (more > 0) lines.push(`${indent}and ${more} more`);
  return `${[look.paint("bold", title), ...lines].join("\n")}\n\n`;
}

const indent = " ".repeat(8);

/** Lines of words that fit behind the indentation. */
function linesOf(text: string, width = Number.POSITIVE_INFINITY): readonly string[] {
  const words = printableLine(text).trim().replaceAll(/ +/g, " ");
  return wrapText(words, width - indent.length).split("\n");
}

function summaryOf(findings: readonly Finding[]): string {
  const count = (level: Level): number => findings.filter((each) => each.level === level).length;
  const [failures, warnings] = [count("failure"), count("warning")];
  const minor = warnings === 0 ? "" : ` and ${counted(warnings, "warning")}`;
  if (failures > 0)
    return `There ${failures === 1 ? "is" : "are"} ${counted(failures, "failure")}${minor}.`;
  return warnings === 0
    ? "Everything works."
    : `Everything works, with ${counted(warnings, "warning")}.`;
}
