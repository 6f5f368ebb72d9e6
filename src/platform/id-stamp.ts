/** Stand for ids in the text of a stamp: as long as a UUID, and nothing that a label or JSON could hold. */
export const sandboxMark = "\u0001".repeat(36);
export const serverMark = "\u0002".repeat(36);
/** Stands for the first digits of a server's id. */
export const shortServerMark = "\u0003".repeat(8);

/** Of a byte: its two hexadecimal digits, as two bytes in the order of the text. */
const digitPairs = Uint16Array.from({ length: 256 }, (_, byte) => {
  const digits = Buffer.from(byte.toString(16).padStart(2, "0"));
  return digits.readUInt16LE(0);
});

/**
 * Lines that differ in ids alone, so that they are laid out once and only filled in for each
 * server: what is rendered for each of a million series must cost next to nothing.
 */
export class IdStamp {
  readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly sandboxPlaces: readonly number[];
  private readonly serverPlaces: readonly number[];
  private readonly shortPlaces: readonly number[];
  private filledFrom: Uint32Array | null = null;
  private filledAt = 0;

  /** @param text with marks where ids belong */
  constructor(text: string) {
    const bytes = Buffer.from(text);
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.sandboxPlaces = blank(bytes, sandboxMark);
    this.serverPlaces = blank(bytes, serverMark);
    this.shortPlaces = blank(bytes, shortServerMark);
  }

  /** Takes the four words of a UUID, which never change: those of the last one need no writing. */
  fillSandbox(words: Uint32Array, at: number): void {
    if (this.filledFrom === words && this.filledAt === at) return;
    this.filledFrom = words;
    this.filledAt = at;
    this.fill(this.sandboxPlaces, words, at);
  }

  /** Takes the four words of a UUID. */
  fillServer(words: Uint32Array, at: number): void {
    this.fill(this.serverPlaces, words, at);
    for (const place of this.shortPlaces) {
      this.view.setInt32(place, fourDigits((words[at] ?? 0) >>> 16), true);
      this.view.setInt32(place + 4, fourDigits((words[at] ?? 0) & 0xffff), true);
    }
  }

  private fill(places: readonly number[], words: Uint32Array, at: number): void {
    const { view } = this;
    const first = words[at] ?? 0;
    const second = words[at + 1] ?? 0;
    const third = words[at + 2] ?? 0;
    const fourth = words[at + 3] ?? 0;
    const digits0 = fourDigits(first >>> 16);
    const digits4 = fourDigits(first & 0xffff);
    const digits9 = fourDigits(second >>> 16);
    const digits14 = fourDigits(second & 0xffff);
    const digits19 = fourDigits(third >>> 16);
    const digits24 = fourDigits(third & 0xffff);
    const digits28 = fourDigits(fourth >>> 16);
    const digits32 = fourDigits(fourth & 0xffff);
    for (let index = 0; index < places.length; index++) {
      const place = places[index] ?? 0;
      view.setInt32(place, digits0, true);
      view.setInt32(place + 4, digits4, true);
      view.setInt32(place + 9, digits9, true);
      view.setInt32(place + 14, digits14, true);
      view.setInt32(place + 19, digits19, true);
      view.setInt32(place + 24, digits24, true);
      view.setInt32(place + 28, digits28, true);
      view.setInt32(place + 32, digits32, true);
    }
  }
}

/** Four bytes of text in one number. */
function fourDigits(value: number): number {
  return (digitPairs[value >>> 8] ?? 0) | ((digitPairs[value & 0xff] ?? 0) << 16);
}

/** Where a mark was; in its place is now a UUID without its digits. */
function blank(bytes: Buffer, mark: string): readonly number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at)) {
    bytes.write("00000000-0000-0000-0000-000000000000".slice(0, mark.length), at, "latin1");
    places.push(at);
  }
  return places;
}
