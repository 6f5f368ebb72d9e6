import { pino } from "pino";
import type { DestinationStream, Logger } from "pino";
import pretty from "pino-pretty";
import { createStandardOutput } from "./standard-output.ts";

export type { Logger } from "pino";

export interface LoggerOptions {
  readonly level: string;
  readonly format: "json" | "pretty";
}

/**
 * Nothing secret is ever handed to the logger; should that fail one day, these fields are masked
 * all the same, at the top and one level down.
 */
const secretFields = [
  "apiKey",
  "api_key",
  "authorization",
  "auth_data",
  "metadata",
  "mcp_server_url",
  "url",
  "secret",
  "password",
  "token",
];

/** The messages say these to a person; for programs there is the JSON format. */
const saidInMessages = [
  "event",
  "region",
  "key",
  "sandbox_id",
  "server_id",
  "server_name",
  "from",
  "to",
  "status",
  "rule",
  "incident_id",
  "detail",
  "receiver",
  "notification_id",
  "attempts",
].join(",");

export function createLogger(
  options: LoggerOptions,
  destination: DestinationStream = createStandardOutput(),
): Logger {
  const stream =
    options.format === "pretty"
      ? pretty({
          destination,
          sync: true,
          ignore: saidInMessages,
          translateTime: "SYS:HH:MM:ss",
          singleLine: true,
        })
      : destination;
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: secretFields.flatMap((field) => [field, `*.${field}`]),
      censor: "[secret]",
    },
  };
  return pino(settings, stream);
}
