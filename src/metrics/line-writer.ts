/**
 * Large enough that sending a piece costs little against rendering it, and small enough that both
 * take a millisecond or so.
 */
const pieceBytes = 512 * 1_024;
/** Most scrapes are far shorter than a piece. */
const firstBytes = 16 * 1_024;

/** Gathers lines in one buffer, which is used again for each piece. */
export class LineWriter {
  private buffer = new Uint8Array(firstBytes);
  private length = 0;

  put(bytes: Uint8Array): void {
    if (this.length + bytes.length > this.buffer.length) this.grow(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  putText(text: string): void {
    this.put(Buffer.from(text));
  }

  /** Whether there is enough for a piece. */
  get isFull(): boolean {
    return this.length >= pieceBytes;
  }

  /** All that was put since the last time: good until something is put again. */
  take(): Uint8Array {
    const piece = this.buffer.subarray(0, this.length);
    this.length = 0;
    return piece;
  }

  private grow(neededBytes: number): void {
    const larger = new Uint8Array((this.length + neededBytes) * 2);
    larger.set(this.buffer.subarray(0, this.length));
    this.buffer = larger;
  }
}
