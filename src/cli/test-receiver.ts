import { keyLabels, withLabels } from "../alerts/notification.ts";
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { noIncidentDetails } from "../alerts/notification.ts";
import type { Notification, NotifiedIncident } from "../alerts/notification.ts";
import { counted } from "../fleet/text.ts";
import { systemClock } from "../lib/clock.ts";
import { shortId } from "../lib/random.ts";
import { userAgent } from "../lib/version.ts";
import { createOutbound } from "../notify/outbound.ts";
import { silentLog } from "../notify/receiver.ts";
import { createReceiver } from "../notify/receivers/create-receiver.ts";
import { createDryRun, withoutLiterals } from "./dry-run.ts";
import { CommandError, wrongUse } from "./exit-codes.ts";
import { configOption, readConfig } from "./options.ts";
import type { Terminal } from "./terminal.ts";

export function addTestReceiver(program: Command, terminal: Terminal): void {
  program
    .command("test-receiver")
    .description("send test messages to a configured receiver")
    .argument("<name>", "the receiver's name in the configuration")
    .addOption(configOption())
    .option("--dry-run", "print what would be sent, without secrets, and send nothing")
    .action((name: string, { config, dryRun = false }) =>
      testReceiver(name, config, dryRun, terminal),
    );
}

async function testReceiver(
  name: string,
  file: string,
  isDryRun: boolean,
  terminal: Terminal,
): Promise<void> {
  const config = readConfig(file, terminal, { masksBodies: isDryRun });
  const { alerts, http } = config;
  const { receivers, outbound } = alerts;
  const settings = receivers.find((each) => each.name === name);
  if (!settings) {
    const known = receivers.map((each) => each.name).join(", ") || "none";
    throw wrongUse(`There is no receiver ${name} in ${file}. Configured: ${known}.`);
  }
  const labelsOf = keyLabels(config);
  const sending = isDryRun
    ? createDryRun(settings, terminal.out)
    : {
        outbound: createOutbound({
          clock: systemClock,
          userAgent,
          mayAct: () => true,
          ...outbound,
        }),
      };
  const receiver = createReceiver(isDryRun ? withoutLiterals(settings) : settings, {
    ...sending,
    clock: systemClock,
    externalUrl: http.externalUrl,
    labelsOf,
    notifiedAlerts: {
      notifiedTo: () => Promise.resolve([]),
      firingOf: () => Promise.resolve([]),
      textsOf: () => Promise.resolve(new Map()),
    },
    messageThreads: {
      ofRule: () => Promise.resolve([]),
      ofReceiver: () => Promise.resolve([]),
      save: () => Promise.resolve(),
      remove: () => Promise.resolve(),
    },
    healthProblem: () => Promise.resolve(null),
    log: silentLog,
    observe: { attemptFailed() {} },
  });
  try {
    for (const message of testMessages(name)) {
      const labelled = withLabels(message, labelsOf);
      const result = await receiver.send(labelled, new AbortController().signal);
      if (result.kind === "failed") {
        throw new CommandError(
          `${name} did not accept the test message: ${result.reason} (${result.detail})`,
        );
      }
    }
    if (isDryRun) return terminal.out("This was a dry run. Nothing was sent.\n");
    terminal.out(
      `${name} accepted the test messages. It should show, marked as tests: 1 server in error and its end, 8 servers in error and their end.\n`,
    );
  } finally {
    await receiver.close?.();
    await sending.outbound.close();
  }
}

/** One and eight servers that fail and recover, marked as tests. */
function testMessages(name: string): readonly Notification[] {
  const test = randomUUID();
  const nowMs = systemClock.now().utcMs;
  return [1, 8].flatMap((count) => {
    const ids = Array.from({ length: count }, () => shortId());
    return (["firing", "resolved"] as const).map((state): Notification => {
      const end = { state, resolvedAtMs: nowMs, resolvedReason: "recovered" } as const;
      const incidents = ids.map((id, n): NotifiedIncident => ({
        ...noIncidentDetails,
        id,
        state: "firing",
        subject: "server",
        region: "test",
        key: "test",
        sandboxId: "test",
        serverId: `test-${count}-${n + 1}`,
        serverName: "test",
        status: state === "firing" ? "error" : "idle",
        startedAtMs: nowMs,
        ...(state === "resolved" && end),
      }));
      return {
        id: `msg_${test}_${count}_${state}`,
        receiver: name,
        type: "test",
        rule: "sandwatch-test",
        severity: "info",
        group: { region: "test", key: "test" },
        summary: `Test from sandwatch (${state}): ${counted(count, "server")} in error, as an example`,
        createdAtMs: nowMs,
        causedAtMs: nowMs,
        runbookUrl: null,
        incidents,
        truncated: 0,
      };
    });
  });
}
