/** Where commands write: standard output for results, standard error for what went wrong. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether a person looks at the output. */
  readonly isInteractive: boolean;
  /** How many characters wide it is; left out: it is no screen, and nothing need be cut. */
  readonly columns?: number | undefined;
}

let isGuarded = false;

export const processTerminal: Terminal = {
  out(text) {
    if (!isGuarded) process.stdout.on("error", endCommand);
    isGuarded = true;
    process.stdout.write(text);
  },
  err: (text) => void process.stderr.write(text),
  isInteractive: process.stdout.isTTY,
  get columns() {
    return process.stdout.isTTY ? process.stdout.columns : undefined;
  },
};

/**
 * Whoever reads the results may have seen enough (`| head`); otherwise they could not be written. The
 * daemon's log is not written here: `run` goes on without it.
 */
function endCommand(error: NodeJS.ErrnoException): void {
  process.exit(error.code === "EPIPE" ? 0 : 1);
}
