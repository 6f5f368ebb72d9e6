import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { Writable } from "node:stream";
import type { DestinationStream } from "pino";
import { IdStamp, sandboxMark, serverMark, shortServerMark } from "./id-stamp.ts";
import { beforeTime, lineOf } from "./logger.ts";
import type { LogLine } from "./logger.ts";

/** Lines that are alike but for the time and a server's ids. */
export interface LineStamp {
  readonly ids: IdStamp;
  readonly timeAt: number;
  /** What stands there. */
  time: Uint8Array | null;
}

const shortIdLength = shortServerMark.length;
const sampleIds = { sandboxId: randomUUID(), serverId: randomUUID() };
const emptyTime = JSON.stringify(new Date(0));
const firstRoom = 256 * 1_024;

/**
 * @param lineFor gives the line of a server; it may tell the beginning of its id once more
 * @returns null where the line says something that looks like an id
 */
export function createLineStamp(lineFor: (ids: typeof sampleIds) => LogLine): LineStamp | null {
  const line = lineFor(sampleIds);
  const { sandboxId, serverId } = sampleIds;
  const shortId = serverId.slice(0, shortIdLength);
  const parts = lineOf({ ...line, time: emptyTime }).split(shortId);
  const text = parts
    .join(shortServerMark)
    .replace(sandboxId, sandboxMark)
    .replace(shortServerMark + serverId.slice(shortIdLength), serverMark);
  // Once in the id, and once in the message.
  if (parts.length !== 3) return null;
  return { ids: new IdStamp(text), timeAt: beforeTime(line.level).length, time: null };
}

/** Gathers lines and writes them at once: of very many, each one costs next to nothing. */
export class StampedLines {
  private readonly stream: Pick<DestinationStream, "write">;
  private bytes: Buffer = Buffer.allocUnsafeSlow(firstRoom);
  /** One that was written, and is nobody else's any more. */
  private spare: Buffer | null = null;
  private length = 0;
  private time = emptyTime;
  private timeBytes = Buffer.from(emptyTime);

  constructor(stream: Pick<DestinationStream, "write">) {
    this.stream = stream;
  }

  /** Those that are put from now on happened now. */
  begin(): void {
    this.time = JSON.stringify(new Date());
    this.timeBytes = Buffer.from(this.time);
  }

  /** Takes of both ids the place of their words: they are UUIDs. */
  putStamped(stamp: LineStamp, words: Uint32Array, sandbox: number, server: number): void {
    const { ids, timeAt } = stamp;
    if (stamp.time !== this.timeBytes) {
      ids.bytes.set(this.timeBytes, timeAt);
      stamp.time = this.timeBytes;
    }
    ids.fillSandbox(words, sandbox);
    ids.fillServer(words, server);
    this.makeRoom(ids.bytes.length);
    this.bytes.set(ids.bytes, this.length);
    this.length += ids.bytes.length;
  }

  put(line: LogLine): void {
    const bytes = Buffer.from(lineOf({ ...line, time: this.time }));
    this.makeRoom(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  write(): void {
    const { bytes, length, stream } = this;
    if (length === 0) return;
    this.length = 0;
    if (!(stream instanceof Writable)) {
      stream.write(bytes.toString("utf8", 0, length));
      return;
    }
    // To be used again: memory that is new each time takes longer than what is written to it.
    this.bytes = this.spare ?? Buffer.allocUnsafeSlow(firstRoom);
    this.spare = null;
    stream.write(bytes.subarray(0, length), () => (this.spare = bytes));
  }

  private makeRoom(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow((this.length + more) * 2);
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}
