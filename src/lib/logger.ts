import { setImmediate } from "node:timers/promises";
import { pino, stdSerializers } from "pino";
import type { DestinationStream, Logger } from "pino";
import { prettyFactory } from "pino-pretty";
import { printableJson, printableLine, printableLines } from "./printable.ts";
import { createStandardOutput } from "./standard-output.ts";

export type { Logger } from "pino";

/** A line in the making. The fields' names need no escaping. */
export interface LogLine {
  readonly level: "debug" | "info" | "warn";
  readonly fields: Readonly<Record<string, string | number | null>>;
  readonly msg: string;
}

export interface LoggerOptions {
  readonly level: string;
  readonly format: "json" | "pretty";
}

/**
 * Nothing secret is ever handed to the logger; should that fail one day, these fields are masked
 * all the same, at the top and one level down.
 */
const secretFields: ReadonlySet<string> = new Set([
  "apiKey",
  "api_key",
  "authorization",
  "auth_data",
  "metadata",
  "mcp_server_url",
  "url",
  "secret",
  "routingKey",
  "routing_key",
  "password",
  "token",
]);

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
  "place",
  "problem",
  "found",
  "attempts",
].join(",");

export function createLogger(
  options: LoggerOptions,
  destination: DestinationStream = createStandardOutput(),
): Logger {
  const format = options.format === "pretty" ? createPretty() : printableJson;
  const stream = { write: (line: string) => destination.write(format(line)) };
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    // pino's own masking copies every line, which costs more than all else that a line takes.
    formatters: { level: (label: string) => ({ level: label }), log: maskSecrets },
    serializers: { err: (error: Error) => masked({ ...stdSerializers.err(error) }) },
  };
  return pino(settings, stream);
}

/** Shows a line to a person. The colors are its own: any other control characters are escaped. */
function createPretty(): (line: string) => string {
  const prettify = prettyFactory({
    ignore: saidInMessages,
    translateTime: "SYS:HH:MM:ss",
    singleLine: true,
    // Otherwise a field called error, as the status is, gets a line of its own.
    errorLikeObjectKeys: ["err"],
  });
  const escape = (field: string, value: unknown): unknown => {
    if (typeof value === "string") {
      return field === "stack" ? printableLines(value) : printableLine(value);
    }
    if (!isPlain(value) || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, at]) => [printableLine(name), at]));
  };
  return (line) => prettify(JSON.parse(line, escape));
}

/**
 * @param most how many of them; the others are left to be written next
 * @returns whether there may be others
 */
export function writeLines(log: Logger, lines: Iterator<LogLine>, most = Infinity): boolean {
  let count = 0;
  for (let next = lines.next(); !next.done; next = lines.next()) {
    const { level, fields, msg } = next.value;
    log[level](fields, msg);
    if (++count === most) return true;
  }
  return false;
}

const linesAtOnce = 100;

/** The same, a few at a time: there may be very many. */
export async function writePaced(log: Logger, lines: Iterator<LogLine>): Promise<void> {
  while (writeLines(log, lines, linesAtOnce)) await setImmediate();
}

function maskSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  return masked(fields, (value) => (isPlain(value) ? masked(value) : value));
}

/** The same object where there is nothing to mask. */
function masked(
  fields: Record<string, unknown>,
  within: (value: unknown) => unknown = (value) => value,
): Record<string, unknown> {
  let copy: Record<string, unknown> | null = null;
  for (const field in fields) {
    const value = fields[field];
    const shown = secretFields.has(field) ? "[secret]" : within(value);
    if (shown !== value) copy = { ...(copy ?? fields), [field]: shown };
  }
  return copy ?? fields;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !(value instanceof Error);
}
