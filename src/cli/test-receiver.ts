import { randomUUID } from "node:crypto";
import { createOutbound } from "../notify/outbound.ts";
import { silentLog } from "../notify/receiver.ts";
import type { NotifiedAlerts } from "../notify/receivers/alertmanager-alerts.ts";
import { createReceiver } from "../notify/receivers/receivers.ts";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { userAgent } from "../lib/version.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { configOption } from "./options.ts";
import { readConfig } from "./read-config.ts";
import type { Terminal } from "./terminal.ts";
import { testMessages } from "./test-messages.ts";

export function addTestReceiver(program: Command, terminal: Terminal): void {
  program
    .command("test-receiver")
    .description("send a test message to a configured receiver")
    .argument("<name>", "the receiver's name in the configuration")
    .addOption(configOption())
    .action((name: string, options: { readonly config: string }) =>
      testReceiver(name, options, terminal),
    );
}

async function testReceiver(
  name: string,
  options: { readonly config: string },
  terminal: Terminal,
): Promise<void> {
  const { receivers, outbound: networks } = readConfig(options.config, terminal).alerts;
  const settings = receivers.find((each) => each.name === name);
  if (!settings) {
    const known = receivers.map((each) => each.name).join(", ") || "none";
    throw new CommandError(
      `There is no receiver ${name} in ${options.config}. Configured: ${known}.`,
      exitCodes.wrongUse,
    );
  }
  const outbound = createOutbound({ clock: systemClock, userAgent, networks });
  const receiver = createReceiver(settings, {
    outbound,
    clock: systemClock,
    notifiedAlerts: noAlerts,
    healthProblem: () => Promise.resolve(null),
    log: silentLog,
    observe: { attemptFailed() {} },
  });
  const messages = testMessages(receiver, randomUUID(), systemClock.now().utcMs);
  try {
    for (const message of messages) {
      const result = await receiver.send(message, new AbortController().signal);
      if (result.kind === "failed") {
        throw new CommandError(
          `${name} did not take the test message: ${result.reason} (${result.detail})`,
          exitCodes.failed,
        );
      }
    }
    terminal.out(`${name} took the test message\n`);
  } finally {
    await receiver.close?.();
    await outbound.close();
  }
}

const noAlerts: NotifiedAlerts = {
  notifiedTo: () => Promise.resolve([]),
  textsOf: () => Promise.resolve(new Map()),
};
