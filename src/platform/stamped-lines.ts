import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { Writable } from "node:stream";
import { beforeTime, lineOf } from "./logger.ts";
import type { LogLine, LogStream } from "./logger.ts";
import {
  mostLines,
  none,
  ownerMark,
  ownMark,
  shortMark,
  StampPress,
} from "./stamping/stamp-press.ts";
import type { PressSizes } from "./stamping/stamp-press.ts";

/** Lines that are alike but for the time and a server's ids. */
export interface LineStamp {
  readonly address: number;
  readonly timeAt: number;
  /** What stands there. */
  time: Uint8Array | null;
}

/** More than a batch mostly has; of memory, what is not used is not taken. */
const linesPress: PressSizes = { pieceBytes: 2 ** 21, letterBytes: 2 ** 20 };

const shortIdLength = shortMark.length;
const sampleIds = { sandboxId: randomUUID(), serverId: randomUUID() };
const emptyTime = JSON.stringify(new Date(0));
const firstRoom = 256 * 1_024;

/** Where in a record, which begins with a server's id, that of its sandbox is; and how long it is. In words. */
export interface RecordLayout {
  readonly sandbox: number;
  readonly words: number;
}

/** Gathers lines and writes them at once: of very many, each one costs next to nothing. */
export class StampedLines {
  private readonly stream: LogStream;
  private readonly press = new StampPress(linesPress);
  private readonly layout: RecordLayout;
  /** One that was written, and is nobody else's any more. */
  private spare: Buffer | null = null;
  private time = emptyTime;
  private timeBytes = Buffer.from(emptyTime);
  /** Where the records are, one behind another, of what was put since the last stamping. */
  private records: Uint32Array = new Uint32Array();
  private firstRecord = 0;
  private recordsEnd = 0;

  constructor(stream: LogStream, layout: RecordLayout) {
    this.stream = stream;
    this.layout = layout;
    this.press.begin(layout.words, layout.sandbox);
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

  /** Stamps that were made before are not to be put any more. */
  forgetStamps(): void {
    this.press.clear();
  }

  /** Whether there may soon be no room for another stamp. */
  get isCrowded(): boolean {
    return this.press.isCrowded;
  }

  /** Whether a long line took memory beyond what it has from the beginning. */
  get isOutgrown(): boolean {
    return this.press.isOutgrown;
  }

  /** Those that are put from now on happened now. */
  begin(): void {
    this.stamp();
    this.time = JSON.stringify(new Date());
    this.timeBytes = Buffer.from(this.time);
  }

  /** Takes the place of the record that has both ids: they are UUIDs. It must stay until lines are written. */
  putStamped(stamp: LineStamp, records: Uint32Array, at: number): void {
    const { press } = this;
    if (press.added === mostLines || records !== this.records || at !== this.recordsEnd) {
      this.stamp();
      this.records = records;
      this.firstRecord = at;
    }
    if (stamp.time !== this.timeBytes) {
      press.rewrite(stamp.address, stamp.timeAt, this.timeBytes);
      stamp.time = this.timeBytes;
    }
    press.addLine(stamp.address, none);
    this.recordsEnd = at + this.layout.words;
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
    const { press, layout } = this;
    if (press.added > 0) press.setRecords(this.records.subarray(this.firstRecord, this.recordsEnd));
    press.stampAll();
    press.begin(layout.words, layout.sandbox);
    this.firstRecord = this.recordsEnd;
  }
}

function roomFor(length: number): number {
  return Math.max(firstRoom, length * 2);
}
