import { setImmediate } from "node:timers/promises";
import { pino, stdSerializers, type DestinationStream, type Logger } from "pino";
import { prettyFactory } from "pino-pretty";
import { printableJson, printableLine, printableLines } from "./printable.ts";
import { fstatSync, writeSync } from "node:fs";
import { Writable } from "node:stream";

export type { Logger } from "pino";

/** A line in the making. The fields' names need no escaping. */
export interface LogLine {
  readonly level: "debug" | "info" | "warn";
  readonly fields: Readonly<Record<string, string | number | object | null>>;
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

const linesAtOnce = 100;

/** Writes lines, a few at a time: there may be very many. */
export async function writePaced(log: Logger, lines: Iterable<LogLine>): Promise<void> {
  let count = 0;
  for (const { level, fields, msg } of lines) {
    log[level](fields, msg);
    if (++count % linesAtOnce === 0) await setImmediate();
  }
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

const standardOutputFd = 1;

/** A reader that is slow, or has stopped reading, is waited for with this much. Bytes. */
const mostWaitingBytes = 8 * 1_024 * 1_024;

const lineFeed = 0x0a;
const lineEnd = Buffer.of(lineFeed);

/**
 * Standard output for the log: it never fails, never holds anybody up and never grows without bound.
 * What cannot be written is lost, in whole lines: a monitor must go on watching when its disk is full
 * and when nobody reads what it says.
 */
export function createStandardOutput(): Writable {
  const file = fstatSync(standardOutputFd);
  return file.isFIFO() || file.isSocket() || process.stdout.isTTY
    ? createPipeOutput(process.stdout)
    : createFileOutput((bytes) => writeSync(standardOutputFd, bytes));
}

/** Writes that end at once, or fail. `write` gives how many bytes it took. */
export function createFileOutput(write: (bytes: Uint8Array) => number): Writable {
  let isTorn = false;
  return new Writable({
    write(chunk: Uint8Array, _, done) {
      const line = isTorn ? Buffer.concat([lineEnd, chunk]) : chunk;
      let written = 0;
      try {
        while (written < line.length) written += write(line.subarray(written));
        isTorn = false;
      } catch {
        // This cannot be reported: the log itself is broken.
        isTorn ||= written > 0;
      }
      done();
    },
  });
}

/** Writes of whole lines that are taken whole and sent when the reader is ready. */
export function createPipeOutput(
  pipe: Writable,
  { mostBytes = mostWaitingBytes }: { readonly mostBytes?: number } = {},
): Writable {
  let lostLines = 0;
  let isCorked = false;
  // Lines of the same turn are written together: a system call costs as much as all other work for a line.
  const cork = (): void => {
    if (isCorked) return;
    isCorked = true;
    pipe.cork();
    process.nextTick(() => {
      isCorked = false;
      pipe.uncork();
    });
  };
  if (!pipe.listeners("error").includes(letGo)) pipe.on("error", letGo);
  return new Writable({
    write(chunk: Uint8Array, _, done) {
      if (!pipe.destroyed && pipe.writableLength + chunk.length <= mostBytes) {
        cork();
        if (lostLines > 0) pipe.write(`${lossText(lostLines)}\n`);
        lostLines = 0;
        pipe.write(chunk);
      } else {
        lostLines += countLines(chunk);
      }
      done();
    },
  });
}

/** A reader that has gone is no reason to stop. One function for all logs of one pipe. */
function letGo(): void {}

function countLines(chunk: Uint8Array): number {
  let count = 0;
  for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) count++;
  return count;
}

/** In the log's own form: a parser of the log parses this too. */
function lossText(lines: number): string {
  const msg = `${lines} log lines were dropped because the reader was too slow`;
  return JSON.stringify({ level: "warn", event: "log.lost", lines, msg });
}
