/** Whole numbers from 0 to 2^53 - 1, each in as few bytes as it needs: seven bits to a byte. */
export class NumberWriter {
  private bytes = new Uint8Array(1_024);
  private length = 0;

  /** @throws {RangeError} for any other number */
  write(value: number): void {
    if (this.length + longest > this.bytes.length) this.grow();
    let rest = value;
    // Most are small, and arithmetic of 32 bits is fast.
    if (rest >>> 0 !== rest) {
      if (!Number.isSafeInteger(rest) || rest < 0) {
        throw new RangeError(`${value} cannot be packed: it is no whole number from 0 to 2^53 - 1`);
      }
      while (rest > 0xffff_ffff) {
        this.bytes[this.length++] = (rest % 0x80) + 0x80;
        rest = Math.floor(rest / 0x80);
      }
    }
    while (rest > 0x7f) {
      this.bytes[this.length++] = (rest & 0x7f) + 0x80;
      rest >>>= 7;
    }
    this.bytes[this.length++] = rest;
  }

  writeByte(byte: number): void {
    if (this.length + longest > this.bytes.length) this.grow();
    this.bytes[this.length++] = byte;
  }

  /** All that was written since the last time. */
  take(): Uint8Array {
    const taken = this.bytes.slice(0, this.length);
    this.length = 0;
    return taken;
  }

  private grow(): void {
    const longer = new Uint8Array(this.bytes.length * 2);
    longer.set(this.bytes);
    this.bytes = longer;
  }
}

/** Bytes of the largest number. */
const longest = 8;

/** Reads what was written, in the same order. */
export class NumberReader {
  private readonly bytes: Uint8Array;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** @throws {RangeError} past the end */
  read(): number {
    let byte = this.readByte();
    if (byte < 0x80) return byte;
    let value = byte - 0x80;
    let unit = 0x80;
    for (;;) {
      byte = this.readByte();
      if (byte < 0x80) return value + byte * unit;
      value += (byte - 0x80) * unit;
      unit *= 0x80;
    }
  }

  /** @throws {RangeError} past the end */
  readByte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new RangeError("packed numbers of the store are not whole");
    return byte;
  }
}
