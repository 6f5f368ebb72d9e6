import { once } from "node:events";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { styleText } from "node:util";
import type { Clock } from "../lib/clock.ts";
import { printableLines, printablePainted } from "../lib/printable.ts";

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
  /** Asks for one line, which is not shown if it is hidden. Null: the input has ended. Default: nobody can be asked. */
  readonly ask?: ((question: string, isHidden?: boolean) => Promise<string | null>) | undefined;
  /** Its width in characters. Default: unlimited, as it is no screen. */
  readonly columns?: number | undefined;
  /** Whether it shows more than ASCII. Default: it may not. */
  readonly isUnicode?: boolean;
  /** Whether results are in colour. Default: they are not. */
  readonly isColored?: boolean;
  /** The clock of ages. Default: that of the system. */
  readonly clock?: Clock;
  /** The time zone of the person. Default: that of the system. */
  readonly zone?: string;
}

/** The terminal, to which nothing is written that it would obey. All commands write through it. */
export function printableTerminal(terminal: Terminal): Terminal {
  const printable = terminal.isColored ? printablePainted : printableLines;
  return {
    ...terminal,
    out: (text) => terminal.out(printable(text)),
    err: (text) => terminal.err(printableLines(text)),
    data: (text) => terminal.out(terminal.isInteractive ? printableLines(text) : text),
    get columns() {
      return terminal.columns;
    },
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
  ask: process.stdin.isTTY && process.stderr.isTTY ? askPerson : undefined,
  get columns() {
    if (process.stdout.isTTY) return process.stdout.columns;
    const columns = Number(process.env["COLUMNS"]);
    return Number.isInteger(columns) && columns > 0 ? columns : undefined;
  },
  get isUnicode() {
    const { LC_ALL, LC_CTYPE, LANG } = process.env;
    return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || "");
  },
  /** Node.js looks at the terminal, `NO_COLOR` and `FORCE_COLOR`. */
  get isColored() {
    return styleText("bold", "x", { stream: process.stdout }) !== "x";
  },
};

/** A closed pipe (`| head`) ends the command with success; any other failure to write is one of the command. */
function endCommand(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`The results could not be written to standard output: ${error.message}\n`);
  process.exit(1);
}

/**
 * Asks a person for one line, on standard error: the results may go to a file.
 *
 * @returns null when the input has ended
 */
async function askPerson(question: string, isHidden = false): Promise<string | null> {
  const { stdin, stderr } = process;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({
    input: stdin,
    output: isHidden ? silent : stderr,
    terminal: stdin.isTTY,
  });
  try {
    if (isHidden) stderr.write(question);
    else lines.setPrompt(question);
    if (!isHidden) lines.prompt();
    // Ctrl-C and Ctrl-D close it.
    const line = once(lines, "line").then(([text]) => String(text));
    return await Promise.race([line, once(lines, "close").then(() => null)]);
  } finally {
    lines.close();
    if (isHidden) stderr.write("\n");
  }
}
