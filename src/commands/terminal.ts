import { once } from "node:events";

/** Where commands write: standard output for results, standard error for what went wrong. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Ends once whoever reads has taken most of what was written: who writes much waits for it. */
  readonly drained?: () => Promise<void>;
  /** Whether a person looks at the output. */
  readonly isInteractive: boolean;
  /** How many characters wide it is; left out: it is no screen, and nothing need be cut. */
  readonly columns?: number | undefined;
  /** Whether it shows more than ASCII; left out: it may not. */
  readonly isUnicode?: boolean;
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

/**
 * Whoever reads the results may have seen enough (`| head`); otherwise they could not be written. The
 * daemon's log is not written here: `run` goes on without it.
 */
function endCommand(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`The results could not be written to standard output: ${error.message}\n`);
  process.exit(1);
}
