import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { noIncidentDetails } from "../alerts/notification.ts";
import type { Notification, NotifiedIncident } from "../alerts/notification.ts";
import { systemClock } from "../lib/clock.ts";
import { userAgent } from "../lib/version.ts";
import { createOutbound } from "../notify/outbound.ts";
import { silentLog } from "../notify/receiver.ts";
import type { Receiver } from "../notify/receiver.ts";
import { createReceiver } from "../notify/receivers/create-receiver.ts";
import { CommandError, wrongUse } from "./exit-codes.ts";
import { configOption, readConfig } from "./options.ts";
import type { Terminal } from "./terminal.ts";

export function addTestReceiver(program: Command, terminal: Terminal): void {
  program
    .command("test-receiver")
    .description("send a test message to a configured receiver")
    .argument("<name>", "the receiver's name in the configuration")
    .addOption(configOption())
    .action((name: string, { config }) => testReceiver(name, config, terminal));
}

async function testReceiver(name: string, file: string, terminal: Terminal): Promise<void> {
  const { alerts, http } = readConfig(file, terminal);
  const { receivers, outbound: networks } = alerts;
  const settings = receivers.find((each) => each.name === name);
  if (!settings) {
    const known = receivers.map((each) => each.name).join(", ") || "none";
    throw wrongUse(`There is no receiver ${name} in ${file}. Configured: ${known}.`);
  }
  const outbound = createOutbound({ clock: systemClock, userAgent, networks });
  const receiver = createReceiver(settings, {
    outbound,
    clock: systemClock,
    externalUrl: http.externalUrl,
    notifiedAlerts: {
      notifiedTo: () => Promise.resolve([]),
      firingOf: () => Promise.resolve([]),
      textsOf: () => Promise.resolve(new Map()),
    },
    healthProblem: () => Promise.resolve(null),
    log: silentLog,
    observe: { attemptFailed() {} },
  });
  try {
    for (const message of testMessages(receiver)) {
      const result = await receiver.send(message, new AbortController().signal);
      if (result.kind === "failed") {
        throw new CommandError(
          `${name} did not accept the test message: ${result.reason} (${result.detail})`,
        );
      }
    }
    terminal.out(`${name} accepted the test message\n`);
  } finally {
    await receiver.close?.();
    await outbound.close();
  }
}

/** A receiver that keeps alerts open until they are resolved gets an alert and at once its end. */
function testMessages({ name, keepsAlerts }: Receiver): readonly Notification[] {
  const id = randomUUID();
  const nowMs = systemClock.now().utcMs;
  const message = (step: string, incidents: readonly NotifiedIncident[]): Notification => ({
    id: `msg_${id}${step}`,
    receiver: name,
    type: "test",
    rule: "test",
    severity: "info",
    group: {},
    summary: "A test message from sandwatch: this receiver works",
    createdAtMs: nowMs,
    causedAtMs: nowMs,
    runbookUrl: null,
    incidents,
    truncated: 0,
  });
  if (keepsAlerts !== true) return [message("", [])];
  const firing: NotifiedIncident = {
    ...noIncidentDetails,
    id: `sandwatch-test-${id}`,
    state: "firing",
    subject: "receiver",
    startedAtMs: nowMs,
    receiver: name,
  };
  const end = { state: "resolved", resolvedAtMs: nowMs, resolvedReason: "recovered" } as const;
  return [message("_firing", [firing]), message("_resolved", [{ ...firing, ...end }])];
}
