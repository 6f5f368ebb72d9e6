import { closeSync, fdatasync, openSync, read, readSync, write } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";

/** The files of a database's write-ahead log, as https://sqlite.org/walformat.html describes them. */
export interface WriteAheadLog {
  /** What is in it, as far as it is committed. */
  look(): LogView;
  /** Brings what was written of it to the disk. */
  sync(): Promise<void>;
  /**
   * Writes all that is committed once more, where it is, a little at a time.
   *
   * @throws when what is there is not what was committed
   */
  rewrite(): Promise<void>;
  /** After the database was closed. */
  close(): void;
}

export interface LogView {
  /** Another one after each transaction that wrote something. */
  readonly change: number;
  /** Pages, since the log last began anew. */
  readonly frames: number;
}

const headerBytes = 32;
const frameHeaderBytes = 24;
const framesAtOnce = 16;

/** In words, of the log's index. */
const indexField = { change: 2, frames: 4 };

const readAt = promisify(read);
const writeAt = promisify(write);

/**
 * Opens what is there: a database that was read or written has both files. They must not be closed before it: to
 * close any descriptor of the index drops SQLite's own locks.
 *
 * @param sync instead of asking the system
 */
export function openWriteAheadLog(
  file: string,
  pageBytes: number,
  sync: (descriptor: number) => Promise<void> = promisify(fdatasync),
): WriteAheadLog {
  const log = openSync(`${file}-wal`, "r+");
  const index = openSync(`${file}-shm`, "r");
  const words = new Uint32Array(indexField.frames + 1);
  const frameBytes = frameHeaderBytes + pageBytes;

  const look = (): LogView => {
    readSync(index, words, 0, words.byteLength, 0);
    return { change: words[indexField.change] ?? 0, frames: words[indexField.frames] ?? 0 };
  };
  const readWhole = async (length: number, position: number): Promise<DataView> => {
    const { bytesRead, buffer } = await readAt(
      log,
      new DataView(new ArrayBuffer(length)),
      0,
      length,
      position,
    );
    if (bytesRead < length) throw isNotTheSame();
    return buffer;
  };
  const writeWhole = async (view: DataView, position: number): Promise<void> => {
    const { bytesWritten } = await writeAt(log, view, 0, view.byteLength, position);
    if (bytesWritten < view.byteLength) throw new Error("the disk took a part of what it should");
  };

  return {
    look,
    sync: () => sync(log),
    async rewrite() {
      const { frames } = look();
      if (frames === 0) return;
      const header = await readWhole(headerBytes, 0);
      const sum = new Checksum(header.getUint32(0) % 2 === 0);
      sum.add(header, 0, headerBytes - 8);
      if (!sum.isAt(header, headerBytes - 8)) throw isNotTheSame();
      await writeWhole(header, 0);
      for (let frame = 0; frame < frames; frame += framesAtOnce) {
        const count = Math.min(framesAtOnce, frames - frame);
        const position = headerBytes + frame * frameBytes;
        const some = await readWhole(count * frameBytes, position);
        for (let at = 0; at < some.byteLength; at += frameBytes) {
          sum.add(some, at, 8);
          sum.add(some, at + frameHeaderBytes, pageBytes);
          if (!sum.isAt(some, at + 16)) throw isNotTheSame();
        }
        await writeWhole(some, position);
        await setImmediate();
      }
    },
    close() {
      closeSync(log);
      closeSync(index);
    },
  };
}

/** Of all that was added, one after another. */
class Checksum {
  private readonly isLittleEndian: boolean;
  private first = 0;
  private second = 0;

  constructor(isLittleEndian: boolean) {
    this.isLittleEndian = isLittleEndian;
  }

  /** @param length a multiple of eight */
  add(view: DataView, from: number, length: number): void {
    let { first, second } = this;
    for (let at = from; at < from + length; at += 8) {
      first = (first + view.getUint32(at, this.isLittleEndian) + second) >>> 0;
      second = (second + view.getUint32(at + 4, this.isLittleEndian) + first) >>> 0;
    }
    this.first = first;
    this.second = second;
  }

  isAt(view: DataView, at: number): boolean {
    return view.getUint32(at) === this.first && view.getUint32(at + 4) === this.second;
  }
}

function isNotTheSame(): Error {
  return new Error(
    "the store's log is not what was written to it; see to the disk and start sandwatch anew, which goes on with what is whole",
  );
}
