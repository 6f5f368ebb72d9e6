import { BodyFault } from "./body-fault.ts";
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  isSpace,
  openBrace,
  openBracket,
  quote,
} from "../json-bytes.ts";
import { limits } from "./limits.ts";

/**
 * Finds where a JSON value ends, byte by byte and across any number of chunks. What it finds is only
 * as good as the value: whether it is JSON is for the parser to say.
 */
export class ValueScanner {
  /** How many bytes of the value were scanned without an end. */
  scanned = 0;
  private depth = 0;
  private objects = 0;
  private inString = false;
  private isEscaped = false;

  /**
   * Scans on. `start` is where the value starts, in whatever buffer now holds it.
   *
   * @returns where the value ends, or -1 when it needs more bytes
   */
  scan(bytes: Uint8Array, start: number, isLast: boolean): number {
    const first = bytes[start];
    const isNested = first === quote || first === openBrace || first === openBracket;
    const end = isNested ? this.scanNested(bytes, start) : this.scanScalar(bytes, start, isLast);
    this.scanned = (end < 0 ? bytes.length : end) - start;
    if (this.scanned > limits.valueBytes) throw tooLong();
    return end;
  }

  /** Forgets the value: the next scan is of another. */
  reset(): void {
    this.scanned = this.depth = this.objects = 0;
    this.inString = this.isEscaped = false;
  }

  private scanNested(bytes: Uint8Array, start: number): number {
    let { depth, objects, inString, isEscaped } = this;
    for (let at = start + this.scanned; at < bytes.length; at++) {
      const byte = bytes[at];
      if (inString) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) {
          inString = false;
          if (depth === 0) return at + 1;
        }
      } else if (byte === quote) inString = true;
      else if (byte === openBrace || byte === openBracket) {
        depth++;
        if (byte === openBrace) objects++;
        if (depth > limits.nesting || objects > limits.objects) throw excess(depth);
      } else if (byte === closeBrace || byte === closeBracket) {
        depth--;
        if (depth === 0) return at + 1;
      }
    }
    this.depth = depth;
    this.objects = objects;
    this.inString = inString;
    this.isEscaped = isEscaped;
    return -1;
  }

  private scanScalar(bytes: Uint8Array, start: number, isLast: boolean): number {
    let at = start + this.scanned;
    while (at < bytes.length && !endsScalar(bytes[at])) at++;
    return at < bytes.length || isLast ? at : -1;
  }
}

function endsScalar(byte: number | undefined): boolean {
  return byte === comma || byte === closeBrace || byte === closeBracket || isSpace(byte);
}

function excess(depth: number): BodyFault {
  return depth > limits.nesting
    ? new BodyFault("invalid_body", `the body is nested deeper than ${limits.nesting} levels`)
    : new BodyFault("too_large", `one value of the body holds more than ${limits.objects} objects`);
}

export function tooLong(): BodyFault {
  return new BodyFault(
    "too_large",
    `one value of the body is longer than ${limits.valueBytes} bytes`,
  );
}
