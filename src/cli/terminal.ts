import { once } from "node:events";
import { printableLines } from "../lib/printable.ts";

/** Where commands write: standard output for results, standard error for what went wrong. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Writes a result for a program, in a format that cannot escape every character. Default: `out`. */
  readonly data?: (text: string) => void;
  /** Resolves when most of the output was read. Awaited between large outputs. */
  readonly drained?: () => Promise<void>;
  /** Whether a person looks at the output. */
  readonly isInteractive: boolean;
  /** Its width in characters. Default: unlimited, as it is no screen. */
  readonly columns?: number | undefined;
  /** Whether it shows more than ASCII. Default: it may not. */
  readonly isUnicode?: boolean;
}

/** The terminal, to which nothing is written that it would obey. All commands write through it. */
export function printableTerminal(terminal: Terminal): Terminal {
  return {
    out: (text) => terminal.out(printableLines(text)),
    err: (text) => terminal.err(printableLines(text)),
    data: (text) => terminal.out(terminal.isInteractive ? printableLines(text) : text),
    drained: async () => terminal.drained?.(),
    isInteractive: terminal.isInteractive,
    get columns() {
      return terminal.columns;
    },
    isUnicode: terminal.isUnicode ?? false,
  };
}

let isGuarded = false;

export const processTerminal: Terminal = {
  out(text) {
    if (!isGuarded) process.stdout.on("error", endCommand);
    isGuarded = true;
    process.stdout.write(text);
  },
  err: (text) => void process.stderr.write(text),
  async drained() {
    if (process.stdout.writableNeedDrain) await once(process.stdout, "drain");
  },
  isInteractive: process.stdout.isTTY,
  get columns() {
    if (process.stdout.isTTY) return process.stdout.columns;
    const columns = Number(process.env["COLUMNS"]);
    return Number.isInteger(columns) && columns > 0 ? columns : undefined;
  },
  get isUnicode() {
    const { LC_ALL, LC_CTYPE, LANG } = process.env;
    return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || "");
  },
};

/** A closed pipe (`| head`) ends the command with success; any other failure to write is one of the command. */
function endCommand(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`The results could not be written to standard output: ${error.message}\n`);
  process.exit(1);
}
