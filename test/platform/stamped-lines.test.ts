import { Writable } from "node:stream";
import { afterEach, expect, it, vi } from "vitest";
import { unpackUuid } from "../../src/core/snapshot/packed-id.ts";
import type { LogLine } from "../../src/platform/logger.ts";
import { linesPress, StampedLines } from "../../src/platform/stamped-lines.ts";
import type { LineStamp } from "../../src/platform/stamped-lines.ts";
import { StampPress } from "../../src/platform/stamping/stamp-press.ts";

afterEach(() => void vi.useRealTimers());

const ids = {
  sandboxId: "00112233-4455-4677-8899-aabbccddeeff",
  serverId: "01234567-89ab-4def-8123-456789abcdef",
};
const words = Uint32Array.of(
  0x00112233,
  0x44554677,
  0x8899aabb,
  0xccddeeff,
  0x01234567,
  0x89ab4def,
  0x81234567,
  0x89abcdef,
);

const lineOfKind =
  (kind: string) =>
  ({ sandboxId, serverId }: typeof ids): LogLine => ({
    level: "info",
    fields: { kind, sandbox_id: sandboxId, server_id: serverId },
    msg: `${kind} ${serverId.slice(0, 8)}`,
  });

function stampOf(lines: StampedLines, kind: string): LineStamp {
  const stamp = lines.layOut(lineOfKind(kind));
  if (!stamp) throw new Error("the line has no stamp");
  return stamp;
}

it("a stamped line is the one that is put whole, at whatever time its stamp was used before", () => {
  const written: string[] = [];
  const lines = new StampedLines(
    { write: (text) => void written.push(text) },
    new StampPress(linesPress),
  );
  const stamps = new Map(["one", "other"].map((kind) => [kind, stampOf(lines, kind)]));
  const batches = [["one"], ["other", "other"], ["one", "other"]];
  for (const [turn, kinds] of batches.entries()) {
    vi.setSystemTime(Date.UTC(2026, 10, 20, 9, 30, turn, turn));
    lines.begin();
    for (const kind of kinds) {
      const stamp = stamps.get(kind);
      if (stamp) lines.putStamped(stamp, words, 0, 4);
      lines.put(lineOfKind(kind)(ids));
    }
    lines.write();
  }
  const all = written.map((text) => text.trimEnd().split("\n"));
  expect(all.map(({ length }) => length)).toEqual([2, 4, 4]);
  for (const [turn, batch] of all.entries()) {
    for (const line of batch) expect(line).toContain(`"2026-11-20T09:30:0${turn}.00${turn}Z"`);
    for (let at = 0; at < batch.length; at += 2) expect(batch[at]).toBe(batch[at + 1]);
  }
});

it("lines of one sandbox after another have each their own ids", () => {
  let written = "";
  const lines = new StampedLines(
    { write: (text) => (written += text) },
    new StampPress(linesPress),
  );
  vi.setSystemTime(Date.UTC(2026, 10, 20, 9, 30));
  lines.begin();
  const stamp = stampOf(lines, "one");
  const same = Uint32Array.from(words);
  const other = words.toReversed();
  const ends = [
    [words, 0, 4],
    [words, 0, 0],
    [words, 4, 4],
    [words, 4, 0],
    [other, 4, 0],
    [same, 4, 0],
    [same, 0, 4],
  ] as const;
  const expected: string[] = [];
  // More than are stamped at once, here and below: what begins anew knows of no sandbox before.
  for (let round = 0; round < 300; round++) {
    for (const [from, sandbox, server] of ends) {
      lines.putStamped(stamp, from, sandbox, server);
      expected.push(`${unpackUuid(from, sandbox)} ${unpackUuid(from, server)}`);
    }
    if (round % 50 === 0) {
      lines.put({ level: "info", fields: {}, msg: "between" });
      expected.push("undefined undefined");
    }
  }
  for (let line = 0; line < 600; line++) {
    const sandbox = line < 10 ? 4 : 0;
    lines.putStamped(stamp, words, sandbox, 4);
    expected.push(`${unpackUuid(words, sandbox)} ${unpackUuid(words, 4)}`);
  }
  lines.write();
  const said = written.trimEnd().split("\n");
  const told = said.map((line) => JSON.parse(line));
  expect(told.map((line) => `${line.sandbox_id} ${line.server_id}`)).toEqual(expected);
});

it("what a stream has not done with yet stays as it was written, whatever is written next", () => {
  const said: string[] = [];
  let finish = (): void => {};
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      // Looked at only when it is done with.
      finish = () => {
        said.push(JSON.parse(chunk.toString()).msg);
        done();
      };
    },
  });
  const lines = new StampedLines(stream, new StampPress(linesPress));
  const write = (msg: string): void => {
    lines.put({ level: "info", fields: {}, msg });
    lines.write();
  };
  write("first");
  write("second");
  finish();
  write("third");
  write("fourth");
  for (let left = 3; left > 0; left -= 1) finish();
  expect(said).toEqual(["first", "second", "third", "fourth"]);
});

it("a line tells of when it was put, however many are put before they are written", () => {
  let written = "";
  const lines = new StampedLines(
    { write: (text) => (written += text) },
    new StampPress(linesPress),
  );
  const stamp = stampOf(lines, "one");
  for (const second of [1, 2]) {
    vi.setSystemTime(Date.UTC(2026, 10, 20, 9, 30, second));
    lines.begin();
    for (let count = 0; count < 700; count++) lines.putStamped(stamp, words, 0, 4);
  }
  lines.write();
  const seconds = written.split("\n").map((line) => /09:30:0(\d)/.exec(line)?.[1]);
  expect(seconds).toEqual([...Array(700).fill("1"), ...Array(700).fill("2"), undefined]);
});

it("a press that was used for other lines has room for as many again", () => {
  const press = new StampPress(linesPress);
  for (let use = 0; use < 8_000; use++) {
    const lines = new StampedLines({ write: () => {} }, press);
    expect(lines.layOut(lineOfKind("one"))).not.toBe(null);
  }
});

it("what is longer than all before is written whole", async () => {
  let written = "";
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      written += chunk.toString();
      done();
    },
  });
  const lines = new StampedLines(stream, new StampPress(linesPress));
  const message = "x".repeat(600_000);
  for (const msg of ["short", message, "short"]) {
    lines.put({ level: "info", fields: {}, msg });
    lines.write();
    await new Promise((resolve) => stream.write("", resolve));
  }
  const said = written.trimEnd().split("\n");
  expect(said.map((line): unknown => JSON.parse(line).msg)).toEqual(["short", message, "short"]);
});
