import { randomUUID } from "node:crypto";
import type { Notification } from "../core/notification.ts";
import { createWebhookReceiver } from "../delivery/receivers/webhook.ts";
import { systemClock } from "../platform/clock.ts";
import { userAgent } from "../platform/version.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { readConfig } from "./read-config.ts";
import type { Terminal } from "./terminal.ts";

const timeoutMs = 15_000;

/**
 * Sends a message of type `test` to a configured receiver, once.
 *
 * @throws {CommandError} when there is no such receiver, or it did not take the message
 */
export async function testReceiver(
  name: string,
  options: { readonly config: string },
  terminal: Terminal,
): Promise<void> {
  const { receivers } = readConfig(options.config, terminal).alerts;
  const settings = receivers.find((each) => each.name === name);
  if (!settings) {
    const known = receivers.map((each) => each.name).join(", ") || "none";
    throw new CommandError(
      `There is no receiver ${name} in ${options.config}. Configured: ${known}.`,
      exitCodes.wrongUse,
    );
  }
  const receiver = createWebhookReceiver(settings, { clock: systemClock, userAgent });
  try {
    const result = await receiver.send(testNotification(name), AbortSignal.timeout(timeoutMs));
    if (result.kind === "failed") {
      throw new CommandError(
        `${name} did not take the test message: ${result.reason} (${result.detail})`,
        exitCodes.failed,
      );
    }
    terminal.out(`${name} took the test message\n`);
  } finally {
    await receiver.close();
  }
}

function testNotification(receiver: string): Notification {
  const nowMs = systemClock.now().utcMs;
  return {
    id: `msg_${randomUUID()}`,
    receiver,
    type: "test",
    rule: "test",
    severity: "info",
    group: {},
    summary: "A test message from sandwatch: this receiver works",
    createdAtMs: nowMs,
    causedAtMs: nowMs,
    runbookUrl: null,
    incidents: [],
    truncated: 0,
  };
}
