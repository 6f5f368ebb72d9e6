import { inspect } from "node:util";
import { Command, CommanderError } from "commander";
import { RefusedError } from "../lib/refused-error.ts";
import { version } from "../lib/version.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { isExpected } from "./expected-errors.ts";
import { printableTerminal } from "./terminal.ts";
import type { Terminal } from "./terminal.ts";

type AddCommand = (program: Command, terminal: Terminal) => void;

/** Every command, in the order of the help. A command's file is loaded when it runs, or for the help. */
const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  demo: async () => (await import("./demo.ts")).addDemo,
  init: async () => (await import("./init.ts")).addInit,
  run: async () => (await import("./run.ts")).addRun,
  reload: async () => (await import("./reload.ts")).addReload,
  "check-config": async () => (await import("./check-config.ts")).addCheckConfig,
  doctor: async () => (await import("./doctor/doctor.ts")).addDoctor,
  poll: async () => (await import("./poll.ts")).addPoll,
  status: async () => (await import("./status.ts")).addStatus,
  targets: async () => (await import("./targets.ts")).addTargets,
  sandboxes: async () => (await import("./sandboxes.ts")).addSandboxes,
  servers: async () => (await import("./servers.ts")).addServers,
  "send-report": async () => (await import("./send-report.ts")).addSendReport,
  "test-receiver": async () => (await import("./test-receiver.ts")).addTestReceiver,
  changes: async () => (await import("./changes.ts")).addChanges,
  incidents: async () => (await import("./incidents.ts")).addIncidents,
  silence: async () => (await import("./silence.ts")).addSilenceCommands,
  ack: async () => (await import("./incidents.ts")).addAck,
  unack: async () => (await import("./incidents.ts")).addUnack,
  notifications: async () => (await import("./notifications.ts")).addNotifications,
  drift: async () => (await import("./drift.ts")).addDrift,
  conformance: async () => (await import("./conformance.ts")).addConformance,
  probes: async () => (await import("./probes.ts")).addProbes,
  explain: async () => (await import("./explain.ts")).addExplain,
  report: async () => (await import("./report.ts")).addReport,
  insights: async () => (await import("./insights.ts")).addInsights,
  lookup: async () => (await import("./lookup.ts")).addLookup,
  mcp: async () => (await import("./mcp.ts")).addMcp,
  backup: async () => (await import("./store-care.ts")).addBackup,
  restore: async () => (await import("./store-care.ts")).addRestore,
  store: async () => (await import("./store-care.ts")).addStoreCommands,
  "test-rules": async () => (await import("./test-rules.ts")).addTestRules,
  route: async () => (await import("./route.ts")).addRoute,
  "hash-password": async () => (await import("./hash-password.ts")).addHashPassword,
  simulate: async () => (await import("./simulate.ts")).addSimulate,
  completion: async () => (await import("./completion.ts")).addCompletion,
};

const firstSteps = `
To try it without a configuration, run:
  sandwatch demo

To monitor a real service, run:
  sandwatch init                              writes a configuration
  sandwatch doctor --config sandwatch.yaml    checks everything that it needs
  sandwatch run --config sandwatch.yaml       runs the daemon

Exit codes: 0 success, 1 failure, 2 usage or configuration error.`;

/** Runs the command that the arguments name, and gives the exit code. Never rejects. */
export async function runProgram(args: readonly string[], output: Terminal): Promise<number> {
  const terminal = printableTerminal(output);
  try {
    const program = await createProgram(terminal, args[0]);
    // Commander would print the help of the program.
    const [first, asked] = args;
    const isWrongHelp = first === "help" && asked !== undefined && !Object.hasOwn(commands, asked);
    await program.parseAsync(isWrongHelp ? args.slice(1) : args, { from: "user" });
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.wrongUse;
    }
    terminal.err(
      isExpected(error) ? `${error.message.trimEnd()}\n` : `sandwatch failed: ${inspect(error)}\n`,
    );
    if (error instanceof CommandError) return error.exitCode;
    const isInvalid = error instanceof RefusedError && error.kind === "invalid";
    return isInvalid ? exitCodes.wrongUse : exitCodes.failed;
  }
}

/** @param name the only command that is needed. Any other text: all are, as they are for completions. */
export async function createProgram(terminal: Terminal, name = ""): Promise<Command> {
  const program = new Command("sandwatch")
    .description("Monitors the sandboxes of a service: metrics, history and alerts.")
    .version(version)
    .showHelpAfterError("(see --help)")
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .addHelpText("after", firstSteps);
  if (name === "--version") return program;
  const isAlone = Object.hasOwn(commands, name) && name !== "completion";
  const named = isAlone ? commands[name] : undefined;
  for (const load of named ? [named] : Object.values(commands)) (await load())(program, terminal);
  return program;
}
