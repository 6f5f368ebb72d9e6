#!/usr/bin/env node
const oldestNode = 24;

/** How long a reader of the output that does not read is waited for, when all else is done. */
const readerPatienceMs = 2_000;

if (Number.parseInt(process.versions.node, 10) < oldestNode) {
  process.stderr.write(
    `sandwatch needs Node.js ${oldestNode} or later; this is ${process.version}.\n`,
  );
  process.exitCode = 1;
} else {
  // Loaded only now: an older Node.js would fail on what these import, and not say why.
  const { runProgram } = await import("./commands/program.ts");
  const { processTerminal } = await import("./commands/terminal.ts");
  process.exitCode = await runProgram(process.argv.slice(2), processTerminal);
  setTimeout(() => process.exit(), readerPatienceMs).unref();
}
