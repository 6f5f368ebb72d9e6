import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { addAlertCommands } from "./alert-commands.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { addHistoryCommands } from "./history-commands.ts";
import { addLookupCommands } from "./lookup-commands.ts";
import { atLeast } from "./numbers.ts";
import { addReportCommands } from "./report-commands.ts";
import type { Terminal } from "./terminal.ts";
import { version } from "../platform/version.ts";
import { StoreError } from "../store/store-error.ts";

const firstSteps = `
To try it without any configuration:
  sandwatch demo

To watch a real service, write a configuration and:
  sandwatch check-config --config sandwatch.yaml
  sandwatch poll --config sandwatch.yaml
  sandwatch run --config sandwatch.yaml

Exit codes: 0 success, 1 failure, 2 usage or configuration error.`;

/** Runs the command that the arguments name, and gives the exit code. Never rejects. */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await createProgram(terminal).parseAsync(args, { from: "user" });
    return exitCodes.ok;
  } catch (error) {
    return exitCodeOf(error, terminal);
  }
}

/** A command is loaded when it is run: somebody waits for it, and few need all that the daemon does. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command("sandwatch")
    .description("Watches the sandboxes of a service: metrics, history and alerts.")
    .version(version)
    .showHelpAfterError("(see --help)")
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .addHelpText("after", firstSteps);

  program
    .command("demo")
    .description("run a simulated service, the daemon and a webhook receiver")
    .addOption(seedOption())
    .option("--servers <n>", "servers in total", atLeast(1), 60)
    .option("--keys <n>", "number of API keys", atLeast(1), 2)
    .option("--history <days>", "days of simulated history to start with", readDays, 28)
    .option("--no-history", "start with an empty store")
    .option("--port <port>", "port of the HTTP server (default: 9740, or a free port)", readPort)
    .action(async (options) => (await import("./demo.ts")).demo(options, terminal));

  program
    .command("run")
    .description("run the daemon until it is stopped")
    .addOption(configOption())
    .action(async (options) => (await import("./run.ts")).run(options, terminal));

  program
    .command("check-config")
    .description("validate a configuration and report all faults")
    .addOption(configOption())
    .action(async (options) => (await import("./check-config.ts")).checkConfig(options, terminal));

  program
    .command("poll")
    .description("poll every target once and print the result; stores nothing and notifies nobody")
    .addOption(configOption())
    .option("--json", "print JSON")
    .action(async (options) => (await import("./poll.ts")).poll(options, terminal));

  program
    .command("test-receiver")
    .description("send a test message to a configured receiver")
    .argument("<name>", "the receiver's name in the configuration")
    .addOption(configOption())
    .action(async (name, options) =>
      (await import("./test-receiver.ts")).testReceiver(name, options, terminal),
    );

  addHistoryCommands(program, terminal);
  addAlertCommands(program, terminal);
  addReportCommands(program, terminal);
  addLookupCommands(program, terminal);

  program
    .command("test-rules")
    .description("run tests of alert rules")
    .argument("<file>", "the tests, in YAML")
    .option("--json", "print JSON")
    .action(async (file, options) =>
      (await import("./test-rules.ts")).testRules(file, options, terminal),
    );

  program
    .command("simulate")
    .description("run the simulated service only")
    .option("--regions <names>", "names of regions, separated by commas", readNames, ["us", "eu"])
    .option("--keys <n>", "number of API keys", atLeast(1), 2)
    .option("--servers <n>", "servers in each listing", atLeast(0), 60)
    .addOption(seedOption())
    .option("--pace <factor>", "how many times faster statuses change; 0: never", readPace, 1)
    .option("--faults <file>", "faults to inject, in YAML or JSON")
    .option("--data <file>", "content of the regions, in YAML or JSON (default: generated)")
    .option("--host <address>", "address to listen on; :: for every interface", "127.0.0.1")
    .option("--port <port>", "port to listen on; 0 chooses a free port", readPort, 9750)
    .action(async (options) => (await import("./simulate.ts")).simulate(options, terminal));
  return program;
}

function configOption(): Option {
  return new Option("-c, --config <file>", "the configuration file").makeOptionMandatory();
}

function seedOption(): Option {
  return new Option("--seed <n>", "seed of the simulated service; equal seeds give equal data")
    .argParser(atLeast(0))
    .default(1);
}

function readPort(text: string): number {
  const port = atLeast(0)(text);
  if (port <= 65_535) return port;
  throw new InvalidArgumentError("A port is at most 65535.");
}

function readDays(text: string): number {
  const days = atLeast(0)(text);
  if (days <= 365) return days;
  throw new InvalidArgumentError("It is at most 365 days.");
}

function readPace(text: string): number {
  const pace = Number(text);
  if (text.trim() !== "" && pace >= 0 && pace <= 1_000) return pace;
  throw new InvalidArgumentError("It must be a number from 0 to 1000.");
}

function readNames(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.every((name) => /^[A-Za-z0-9_.-]+$/.test(name))) return [...new Set(names)];
  throw new InvalidArgumentError("Names are letters, digits, _ . - and separated by commas.");
}

function exitCodeOf(error: unknown, terminal: Terminal): number {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? exitCodes.ok : exitCodes.wrongUse;
  }
  if (error instanceof CommandError) {
    terminal.err(`${error.message.trimEnd()}\n`);
    return error.exitCode;
  }
  const text = error instanceof StoreError ? error.message : describeBug(error);
  terminal.err(`${text}\n`);
  return exitCodes.failed;
}

function describeBug(error: unknown): string {
  return `sandwatch failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
