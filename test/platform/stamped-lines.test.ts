import { Writable } from "node:stream";
import { afterEach, expect, it, vi } from "vitest";
import { unpackUuid } from "../../src/core/snapshot/packed-id.ts";
import type { LogLine } from "../../src/platform/logger.ts";
import { StampedLines } from "../../src/platform/stamped-lines.ts";
import type { LineStamp, RecordLayout } from "../../src/platform/stamped-lines.ts";

afterEach(() => void vi.useRealTimers());

const ids = {
  sandboxId: "00112233-4455-4677-8899-aabbccddeeff",
  serverId: "01234567-89ab-4def-8123-456789abcdef",
};
/** The server's id, a word that is neither, and the sandbox's id. */
const record = Uint32Array.of(
  0x01234567,
  0x89ab4def,
  0x81234567,
  0x89abcdef,
  0xffffffff,
  0x00112233,
  0x44554677,
  0x8899aabb,
  0xccddeeff,
);
const layout: RecordLayout = { sandbox: 5, words: record.length };

function linesTo(write: (text: string) => void): StampedLines {
  return new StampedLines({ write }, layout);
}

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
  const lines = linesTo((text) => void written.push(text));
  const stamps = new Map(["one", "other"].map((kind) => [kind, stampOf(lines, kind)]));
  const batches = [["one"], ["other", "other"], ["one", "other"]];
  for (const [turn, kinds] of batches.entries()) {
    vi.setSystemTime(Date.UTC(2026, 10, 20, 9, 30, turn, turn));
    lines.begin();
    for (const kind of kinds) {
      const stamp = stamps.get(kind);
      if (stamp) lines.putStamped(stamp, record, 0);
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

it("lines have each their own ids, wherever their records are", () => {
  let written = "";
  const lines = linesTo((text) => (written += text));
  vi.setSystemTime(Date.UTC(2026, 10, 20, 9, 30));
  lines.begin();
  const stamp = stampOf(lines, "one");
  // More than are stamped at once, one behind another.
  const many = Uint32Array.from({ length: 600 * layout.words }, (_, word) => word * 0x9e3779b1);
  const others = many.toReversed();
  const expected: string[] = [];
  const put = (records: Uint32Array, index: number): void => {
    const at = index * layout.words;
    lines.putStamped(stamp, records, at);
    expected.push(`${unpackUuid(records, at + layout.sandbox)} ${unpackUuid(records, at)}`);
  };
  for (let index = 0; index < 600; index++) put(many, index);
  for (const index of [7, 8, 8, 7, 9, 10]) {
    put(many, index);
    put(others, index);
  }
  for (let index = 11; index < 600; index++) {
    put(others, index);
    if (index % 50 > 0) continue;
    lines.put({ level: "info", fields: {}, msg: "between" });
    expected.push("undefined undefined");
  }
  lines.write();
  put(others, 0);
  lines.write();
  const told = written
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
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
  const lines = new StampedLines(stream, layout);
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
  const lines = linesTo((text) => (written += text));
  const stamp = stampOf(lines, "one");
  for (const second of [1, 2]) {
    vi.setSystemTime(Date.UTC(2026, 10, 20, 9, 30, second));
    lines.begin();
    for (let count = 0; count < 700; count++) lines.putStamped(stamp, record, 0);
  }
  lines.write();
  const seconds = written.split("\n").map((line) => /09:30:0(\d)/.exec(line)?.[1]);
  expect(seconds).toEqual([...Array(700).fill("1"), ...Array(700).fill("2"), undefined]);
});

it("there is room for as many stamps again, once those before are forgotten", () => {
  const lines = linesTo(() => {});
  const layOutMany = (): number => {
    let laidOut = 0;
    while (!lines.isCrowded && lines.layOut(lineOfKind("one"))) laidOut += 1;
    return laidOut;
  };
  const many = layOutMany();
  expect(many).toBeGreaterThan(1_000);
  expect(layOutMany()).toBe(0);
  lines.forgetStamps();
  expect(layOutMany()).toBe(many);
});

it("what is longer than all before is written whole", async () => {
  let written = "";
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      written += chunk.toString();
      done();
    },
  });
  const lines = new StampedLines(stream, layout);
  const message = "x".repeat(600_000);
  for (const msg of ["short", message, "short"]) {
    lines.put({ level: "info", fields: {}, msg });
    lines.write();
    await new Promise((resolve) => stream.write("", resolve));
  }
  const said = written.trimEnd().split("\n");
  expect(said.map((line): unknown => JSON.parse(line).msg)).toEqual(["short", message, "short"]);
});
