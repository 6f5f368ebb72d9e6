import { exitCodes } from "./exit-codes.ts";

const stopSignals = ["SIGINT", "SIGTERM"] as const;

/** Commands that run until a signal stops them. */
const lasting: readonly (string | undefined)[] = ["run", "demo", "simulate", "mcp"];

/**
 * Handles signals while the command is being loaded. Nothing has been opened by then, so a signal to stop ends the
 * process with success. SIGHUP is ignored: `run` reads its configuration later.
 */
export function catchEarlySignals(command: string | undefined): void {
  if (lasting.includes(command)) for (const signal of stopSignals) process.on(signal, stopEarly);
  if (command === "run") process.on("SIGHUP", () => {});
}

const stopEarly = (): void => process.exit(exitCodes.ok);

/** npm passes on the signal that a terminal has sent to both: what comes so soon after the first is no second one. */
const togetherMs = 1_000;

/** Resolves at the first SIGINT or SIGTERM. A later one ends the process at once. */
export function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const stop = (received: NodeJS.Signals): void => {
      resolve(received);
      setTimeout(() => {
        for (const signal of stopSignals) process.off(signal, stop);
      }, togetherMs).unref();
    };
    for (const signal of stopSignals) {
      // In this order: a signal that waits to be handled is lost when nobody listens for a moment.
      process.on(signal, stop);
      process.off(signal, stopEarly);
    }
  });
}
