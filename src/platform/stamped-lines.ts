import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { Writable } from "node:stream";
import type { DestinationStream } from "pino";
import { wordsPerId } from "../core/snapshot/packed-id.ts";
import { beforeTime, lineOf } from "./logger.ts";
import type { LogLine } from "./logger.ts";
import { mostLines, none, ownerMark, ownMark, shortMark } from "./stamping/stamp-press.ts";
import type { PressSizes, StampPress } from "./stamping/stamp-press.ts";

/** Lines that are alike but for the time and a server's ids. */
export interface LineStamp {
  readonly address: number;
  readonly timeAt: number;
  /** What stands there. */
  time: Uint8Array | null;
}

/** More than a batch mostly has; of memory, what is not used is not taken. */
export const linesPress: PressSizes = { pieceBytes: 2 ** 21, letterBytes: 2 ** 20 };

const shortIdLength = shortMark.length;
const sampleIds = { sandboxId: randomUUID(), serverId: randomUUID() };
const emptyTime = JSON.stringify(new Date(0));
const firstRoom = 256 * 1_024;

/** Gathers lines and writes them at once: of very many, each one costs next to nothing. */
export class StampedLines {
  private readonly stream: Pick<DestinationStream, "write">;
  private readonly press: StampPress;
  /** One that was written, and is nobody else's any more. */
  private spare: Buffer | null = null;
  private time = emptyTime;
  private timeBytes = Buffer.from(emptyTime);
  /** Where the id of the last line's sandbox is; null: since the last stamping none was put. */
  private lastOwner: Uint32Array | null = null;
  private lastOwnerAt = 0;

  constructor(stream: Pick<DestinationStream, "write">, press: StampPress) {
    this.stream = stream;
    this.press = press;
    press.clear();
    press.begin(wordsPerId);
  }

  /**
   * Makes the stamp of lines that are alike.
   *
   * @param lineFor gives the line of a server; it may tell the beginning of its id once more
   * @returns null where the line says something that looks like an id, or there is no room for its stamp
   */
  layOut(lineFor: (ids: typeof sampleIds) => LogLine): LineStamp | null {
    const line = lineFor(sampleIds);
    const { sandboxId, serverId } = sampleIds;
    const shortId = serverId.slice(0, shortIdLength);
    const parts = lineOf({ ...line, time: emptyTime }).split(shortId);
    // Once in the id, and once in the message.
    if (parts.length !== 3) return null;
    const text = parts
      .join(shortMark)
      .replace(sandboxId, ownerMark)
      .replace(shortMark + serverId.slice(shortIdLength), ownMark);
    const address = this.press.layOut(text);
    return address === none ? null : { address, timeAt: beforeTime(line.level).length, time: null };
  }

  /** Those that are put from now on happened now. */
  begin(): void {
    this.stamp();
    this.time = JSON.stringify(new Date());
    this.timeBytes = Buffer.from(this.time);
  }

  /** Takes of both ids the place of their words: they are UUIDs. */
  putStamped(stamp: LineStamp, words: Uint32Array, sandbox: number, server: number): void {
    const { press } = this;
    if (press.added === mostLines) this.stamp();
    if (stamp.time !== this.timeBytes) {
      press.rewrite(stamp.address, stamp.timeAt, this.timeBytes);
      stamp.time = this.timeBytes;
    }
    if (words === this.lastOwner && sandbox === this.lastOwnerAt) press.extendOwner();
    else {
      press.addOwner(1, words, sandbox);
      this.lastOwner = words;
      this.lastOwnerAt = sandbox;
    }
    press.addOwn(words, server);
    press.addLine(stamp.address, none);
  }

  put(line: LogLine): void {
    this.stamp();
    this.press.putText(lineOf({ ...line, time: this.time }));
  }

  write(): void {
    const { press, stream } = this;
    this.stamp();
    const { buffer, byteOffset, length } = press.take();
    if (length === 0) return;
    const lines = Buffer.from(buffer, byteOffset, length);
    if (!(stream instanceof Writable)) {
      stream.write(lines.toString());
      return;
    }
    // To be used again: memory that is new each time takes longer than what is written to it.
    const { spare } = this;
    const bytes = spare && spare.length >= length ? spare : Buffer.allocUnsafeSlow(roomFor(length));
    this.spare = null;
    lines.copy(bytes);
    stream.write(bytes.subarray(0, length), () => (this.spare = bytes));
  }

  /** Those that were put, before anything else is. */
  private stamp(): void {
    this.press.stampAll();
    this.press.begin(wordsPerId);
    this.lastOwner = null;
  }
}

function roomFor(length: number): number {
  return Math.max(firstRoom, length * 2);
}
