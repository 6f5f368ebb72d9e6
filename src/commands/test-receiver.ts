import { randomUUID } from "node:crypto";
import { silentLog } from "../notify/observer.ts";
import { createReceiver } from "../notify/receivers/create-receiver.ts";
import type { ToldAlerts } from "../notify/told-alerts.ts";
import { systemClock } from "../platform/clock.ts";
import { userAgent } from "../platform/version.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { readConfig } from "./read-config.ts";
import type { Terminal } from "./terminal.ts";
import { testMessages } from "./test-messages.ts";

const timeoutMs = 15_000;

/**
 * Sends a test message to a configured receiver, once; to one that keeps alerts also its end.
 *
 * @throws {CommandError} when there is no such receiver, or it did not take the message
 */
export async function testReceiver(
  name: string,
  options: { readonly config: string },
  terminal: Terminal,
): Promise<void> {
  const { receivers, outbound } = readConfig(options.config, terminal).alerts;
  const settings = receivers.find((each) => each.name === name);
  if (!settings) {
    const known = receivers.map((each) => each.name).join(", ") || "none";
    throw new CommandError(
      `There is no receiver ${name} in ${options.config}. Configured: ${known}.`,
      exitCodes.wrongUse,
    );
  }
  const receiver = createReceiver(settings, {
    clock: systemClock,
    userAgent,
    networks: outbound,
    toldAlerts: noAlerts,
    ailment: () => Promise.resolve(null),
    log: silentLog,
    observe: { attemptFailed() {} },
  });
  const messages = testMessages(settings, randomUUID(), systemClock.now().utcMs);
  try {
    for (const message of messages) {
      const result = await receiver.send(message, AbortSignal.timeout(timeoutMs));
      if (result.kind === "failed") {
        throw new CommandError(
          `${name} did not take the test message: ${result.reason} (${result.detail})`,
          exitCodes.failed,
        );
      }
    }
    terminal.out(`${name} took the test message\n`);
  } finally {
    await receiver.close();
  }
}

const noAlerts: ToldAlerts = {
  toldTo: () => Promise.resolve([]),
  wordsOf: () => Promise.resolve(new Map()),
};
