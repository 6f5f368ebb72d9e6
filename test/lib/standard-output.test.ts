import { closeSync, openSync, writeSync } from "node:fs";
import { PassThrough, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createLogger } from "../../src/lib/logger.ts";
import { createFileOutput, createPipeOutput } from "../../src/lib/logger.ts";

describe("output to a file", () => {
  it("is written whole, however little is taken at a time", () => {
    const taken: number[] = [];
    const output = createFileOutput((bytes) => {
      taken.push(bytes[0] ?? -1);
      return 1;
    });
    output.write("sandwatch");
    expect(String.fromCharCode(...taken)).toBe("sandwatch");
  });

  it.each(["json", "pretty"] as const)(
    "loses lines on a full disk and continues (%s)",
    (format) => {
      const full = openSync("/dev/full", "w");
      const lines: string[] = [];
      let isFull = true;
      const output = createFileOutput((bytes) => {
        if (isFull) return writeSync(full, bytes);
        lines.push(Buffer.from(bytes).toString());
        return bytes.length;
      });
      const log = createLogger({ level: "info", format }, output);
      log.info("lost");
      isFull = false;
      log.info("kept");
      closeSync(full);
      expect(lines).toEqual([expect.stringContaining("kept")]);
    },
  );

  it("begins a line of its own after one that a full disk has cut", () => {
    let free = 10;
    let written = "";
    const output = createFileOutput((bytes) => {
      if (free === 0) throw new Error("ENOSPC");
      const taken = Math.min(free, bytes.length);
      free -= taken;
      written += Buffer.from(bytes.subarray(0, taken)).toString();
      return taken;
    });
    output.write("first\n");
    output.write("second\n");
    free = 100;
    output.write("third\n");
    expect(written).toBe("first\nseco\nthird\n");
  });
});

describe("output to a pipe", () => {
  it("waits for a slow reader, loses whole lines past a bound, and says how many", async () => {
    const read: string[] = [];
    let readNext = (): void => {};
    const pipe = new Writable({
      write(chunk, _, done) {
        read.push(String(chunk));
        readNext = done;
      },
    });
    const output = createPipeOutput(pipe, { mostBytes: 25 });
    for (let line = 1; line <= 4; line += 1) output.write(`line ${line}\n`);
    output.write("line 5\nline 6\n");
    await setImmediate();
    for (let line = 1; line <= 3; line += 1) readNext();
    output.write("line 7\n");
    await setImmediate();
    readNext();
    expect(read).toEqual([
      "line 1\n",
      "line 2\n",
      "line 3\n",
      expect.stringMatching(/"event":"log.lost","lines":3/),
      "line 7\n",
    ]);
  });

  it("sends lines that are written one after another together", async () => {
    const sent: string[] = [];
    const pipe = new Writable({
      writev(chunks, done) {
        sent.push(chunks.map(({ chunk }) => String(chunk)).join(""));
        done();
      },
    });
    const output = createPipeOutput(pipe);
    for (let line = 1; line <= 3; line += 1) output.write(`line ${line}\n`);
    await setImmediate();
    output.write("line 4\n");
    await setImmediate();
    expect(sent).toEqual(["line 1\nline 2\nline 3\n", "line 4\n"]);
  });

  it("goes on without a reader, and listens once, however many logs are begun on it", () => {
    const pipe = new PassThrough();
    const { length } = pipe.listeners("error");
    const outputs = Array.from({ length: 20 }, () => createPipeOutput(pipe));
    expect(pipe.listeners("error")).toHaveLength(length + 1);
    pipe.destroy(new Error("EPIPE"));
    outputs[0]?.write("nobody hears this\n");
    expect(outputs[0]?.destroyed).toBe(false);
  });
});
