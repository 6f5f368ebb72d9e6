import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../src/config/config.ts";
import type { WebhookConfig } from "../../src/config/receivers/webhook.ts";
import type { ReceiverConfig } from "../../src/config/schema-receivers.ts";
import { formatFaults } from "../../src/config/faults.ts";
import type { LoadedConfig } from "../../src/config/load-config.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Writes files into a folder of the test's own and gives the path of the first. */
export function writeFiles(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = tempFolder();
  const names = Object.keys(files);
  for (const name of names) writeFileSync(join(folder, name), files[name] ?? "");
  return join(folder, names[0] ?? "");
}

export function configOf(loaded: LoadedConfig): Config {
  if (loaded.kind === "faulty") throw new Error(formatFaults("configuration", loaded.faults));
  return loaded.config;
}

/** The lines for a person, without the first one. */
export function faultLines(loaded: LoadedConfig): string[] {
  if (loaded.kind === "ok") return [];
  return formatFaults("configuration", loaded.faults)
    .split("\n")
    .slice(1)
    .map((line) => line.trim());
}

export const signingSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** Where a receiver is, of a type that is in one place. */
export function urlOf(receiver: ReceiverConfig | undefined): string | undefined {
  return receiver && "url" in receiver ? receiver.url.reveal() : undefined;
}

/** The first receiver, which must be a webhook. */
export function webhookOf({ alerts }: Config): WebhookConfig {
  const [receiver] = alerts.receivers;
  if (receiver?.type !== "webhook") throw new TypeError("the first receiver is no webhook");
  return receiver;
}

/** What is wrong, a configuration that has it, and the fault as it is told. */
export type Faulty = readonly [title: string, value: unknown, line: string];
