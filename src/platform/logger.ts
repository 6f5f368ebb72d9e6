import { setImmediate } from "node:timers/promises";
import { pino, stdSerializers } from "pino";
import type { DestinationStream, Logger } from "pino";
import pretty from "pino-pretty";
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
    // pino's own masking copies every line, which costs more than all else that a line takes.
    formatters: { level: (label: string) => ({ level: label }), log: maskSecrets },
    serializers: { err: (error: Error) => masked({ ...stdSerializers.err(error) }) },
  };
  const log = pino(settings, stream);
  streams.set(log, stream);
  return log;
}

export type LogStream = Pick<DestinationStream, "write">;

const streams = new WeakMap<Logger, LogStream>();

/** Where the lines of a logger go as they are; null where not all of them are made here. */
export function streamOf(log: Logger): LogStream | null {
  return streams.get(log) ?? null;
}

/**
 * Writes lines as calls of `log` would, but all at once: of very many lines it is the calls and the
 * single writes that cost.
 *
 * @param most how many of them; the others are left to be written next
 * @returns whether there may be others
 */
export function writeLines(log: Logger, lines: Iterator<LogLine>, most = Infinity): boolean {
  const stream = streams.get(log);
  const time = JSON.stringify(new Date());
  let text = "";
  let count = 0;
  for (let next = lines.next(); !next.done; next = lines.next()) {
    const { level, fields, msg } = next.value;
    if (!stream) log[level](fields, msg);
    else if (log.isLevelEnabled(level)) text += lineOf({ level, time, fields, msg });
    if (++count === most) break;
  }
  if (stream && text !== "") stream.write(text);
  return count === most;
}

const linesAtOnce = 250;

/** The same, a few at a time: there may be very many. */
export async function writePaced(log: Logger, lines: Iterator<LogLine>): Promise<void> {
  while (writeLines(log, lines, linesAtOnce)) await setImmediate();
}

/** @param time as JSON */
export function lineOf({ level, time, fields, msg }: LogLine & { readonly time: string }): string {
  let line = `${beforeTime(level)}${time}`;
  for (const field in fields) {
    const value = secretFields.has(field) ? "[secret]" : (fields[field] ?? null);
    line += `,"${field}":${typeof value === "string" ? quote(value) : String(value)}`;
  }
  return `${line},"msg":${JSON.stringify(msg)}}\n`;
}

/** How each line of a level begins. */
export function beforeTime(level: LogLine["level"]): string {
  return `{"level":"${level}","time":`;
}

/** Names and statuses come line after line; ids, which do not, are longer. */
const quoted = new Map<string, string>();
const mostQuoted = { length: 32, count: 1_024 };

function quote(text: string): string {
  if (text.length > mostQuoted.length) return JSON.stringify(text);
  let known = quoted.get(text);
  if (known === undefined) {
    if (quoted.size >= mostQuoted.count) quoted.clear();
    known = JSON.stringify(text);
    quoted.set(text, known);
  }
  return known;
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
