import { exitCodes } from "./exit-codes.ts";

const stopSignals = ["SIGINT", "SIGTERM"] as const;

/** Those that run until a signal stops them. */
const lasting: readonly (string | undefined)[] = ["run", "demo", "simulate"];

/**
 * Handles the signals that arrive while the command is still being loaded. Nothing has been opened by then, so a
 * signal to stop ends the process at once, with success. SIGHUP needs no action: `run` reads its configuration
 * later. Without a listener it would end the process.
 *
 * @param command the first argument
 */
export function catchEarlySignals(command: string | undefined): void {
  if (lasting.includes(command)) for (const signal of stopSignals) process.on(signal, stopEarly);
  if (command === "run") process.on("SIGHUP", () => {});
}

function stopEarly(): void {
  process.exit(exitCodes.ok);
}

/**
 * Resolves at the first SIGINT or SIGTERM. The handlers then go: a second signal ends the process
 * at once, as it does without them.
 */
export function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const stop = (received: NodeJS.Signals): void => {
      for (const signal of stopSignals) process.off(signal, stop);
      resolve(received);
    };
    for (const signal of stopSignals) {
      // In this order: a signal that waits to be handled is lost when nobody listens for a moment.
      process.on(signal, stop);
      process.off(signal, stopEarly);
    }
  });
}
