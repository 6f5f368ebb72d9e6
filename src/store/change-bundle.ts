import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { freeBuffer } from "../platform/free-buffer.ts";
import { NumberReader, NumberWriter } from "./packed-numbers.ts";

/** A row of changes as the table has it, and as a bundle gives it back. */
export interface PlainChangeRow {
  readonly row: number;
  readonly atMs: number;
  readonly targetId: number;
  /** A JSON array of the texts that the words name by number. */
  readonly texts: string;
  readonly words: Uint8Array;
}

export interface OpenedBundle {
  /** In the order in which they were kept; unpacked as they are asked for. */
  readonly rows: Iterable<PlainChangeRow>;
  /** The words of all rows, one after another. */
  readonly words: Uint8Array;
  /** Those of the rows, each once. */
  readonly texts: readonly string[];
}

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Without it, half of all flipped bits would be told as other changes. */
const checked = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };

/** Bytes of the words and of the numbers, as two words. */
const headBytes = 8;

/**
 * Makes many rows one. Words and texts stay as they are: a server that changes often has its ids in
 * them often, and what was there before costs next to nothing when it is compressed.
 */
export class BundlePacker {
  private readonly numbers = new NumberWriter();
  private readonly texts = new Map<string, number>();
  private words = new Uint8Array(1_024);
  private wordsEnd = 0;
  private last = { row: 0, atMs: 0 };

  /** One that was kept later than those before. */
  add({ row, atMs, targetId, texts, words }: PlainChangeRow): void {
    const text = this.texts.get(texts) ?? this.texts.size;
    this.texts.set(texts, text);
    this.numbers.write(row - this.last.row);
    writeSigned(this.numbers, atMs - this.last.atMs);
    this.numbers.write(targetId);
    this.numbers.write(text);
    this.numbers.write(words.length);
    this.last = { row, atMs };
    const begin = this.wordsEnd;
    this.wordsEnd += words.length;
    if (this.wordsEnd > this.words.length) this.grow();
    this.words.set(words, begin);
  }

  /** All that was added; nothing can be after it. */
  async finish(): Promise<Uint8Array> {
    const numbers = this.numbers.take();
    const head = Buffer.alloc(headBytes);
    head.writeUInt32LE(this.wordsEnd, 0);
    head.writeUInt32LE(numbers.length, 4);
    const words = this.words.subarray(0, this.wordsEnd);
    const texts = Buffer.from(JSON.stringify([...this.texts.keys()]));
    const joined = Buffer.concat([head, words, numbers, texts]);
    freeBuffer(this.words);
    const bundle = await compress(joined, checked);
    freeBuffer(joined);
    return bundle;
  }

  private grow(): void {
    const longer = new Uint8Array(this.wordsEnd * 2);
    longer.set(this.words);
    freeBuffer(this.words);
    this.words = longer;
  }
}

/** Rejects when the bundle is not whole. */
export async function openBundle(body: Uint8Array): Promise<OpenedBundle> {
  const bytes = await decompress(body);
  const wordsEnd = headBytes + bytes.readUInt32LE(0);
  const numbersEnd = wordsEnd + bytes.readUInt32LE(4);
  const words = bytes.subarray(headBytes, wordsEnd);
  const texts: readonly string[] = JSON.parse(bytes.toString("utf8", numbersEnd));
  const numbers = bytes.subarray(wordsEnd, numbersEnd);
  return { rows: { [Symbol.iterator]: () => unpackRows(numbers, words, texts) }, words, texts };
}

function* unpackRows(
  numbers: Uint8Array,
  allWords: Uint8Array,
  allTexts: readonly string[],
): Generator<PlainChangeRow, void> {
  const input = new NumberReader(numbers);
  let row = 0;
  let atMs = 0;
  for (let at = 0; at < allWords.length;) {
    row += input.read();
    atMs += readSigned(input);
    const targetId = input.read();
    const texts = allTexts[input.read()] ?? "[]";
    const words = allWords.subarray(at, (at += input.read()));
    yield { row, atMs, targetId, texts, words };
  }
}

function writeSigned(output: NumberWriter, value: number): void {
  output.write(value < 0 ? -2 * value - 1 : 2 * value);
}

function readSigned(input: NumberReader): number {
  const value = input.read();
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
