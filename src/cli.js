#!/usr/bin/env node
// Plain JavaScript, because a Node.js that cannot read TypeScript must get far enough to say so.
// src/cli.ts is a symbolic link to this file.
const oldestNode = 24;

/** How long to wait at the end for a reader of the output that does not read. */
const longestReadMs = 2_000;

const nodeVersion = process.version.slice(1);

if (Number.parseInt(nodeVersion, 10) < oldestNode) {
  process.stderr.write(
    `sandwatch needs Node.js ${oldestNode} or later, and this is Node.js ${nodeVersion}: install a newer one from https://nodejs.org/, or in a checkout run "npm ci", which fetches one, and then "npm run --silent sandwatch -- COMMAND".\n`,
  );
  process.exitCode = 1;
} else {
  // Loaded only now, because an older Node.js would fail on what these import. Signals come first:
  // loading the rest may take seconds on a busy machine.
  const args = process.argv.slice(2);
  const { catchEarlySignals } = await import("./cli/signals.ts");
  catchEarlySignals(args[0]);
  const { runProgram } = await import("./cli/program.ts");
  const { processTerminal } = await import("./cli/terminal.ts");
  process.exitCode = await runProgram(args, processTerminal);
  setTimeout(() => process.exit(), longestReadMs).unref();
}
