import { fstatSync, writeSync } from "node:fs";
import { Writable } from "node:stream";

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
