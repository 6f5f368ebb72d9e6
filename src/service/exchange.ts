import { Buffer } from "node:buffer";
import type { Dispatcher } from "undici";
import { freeSoon } from "../platform/free-buffer.ts";
import { type ByteCollector, createByteCollector } from "./byte-collector.ts";
import type { Cutoff } from "./cutoff.ts";
import { type BodyReader, type PacedReader, paceReader } from "./pace-reader.ts";

/** What came of one request. Only "answered" holds a whole answer. */
export type Exchange =
  | (Head & {
      readonly kind: "answered";
      /**
       * Null where a reader was given it, and where the status is not 200 and the body is too long,
       * hangs or breaks off.
       */
      readonly body: Buffer | null;
    })
  | { readonly kind: "too_large"; readonly status: number }
  | { readonly kind: "stopped"; readonly status: number | null }
  | { readonly kind: "broken"; readonly status: number | null; readonly error: unknown };

export interface Head {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
}

export interface ExchangeRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxBodyBytes: number;
  /** Ends the exchange at once, whatever the connection is doing, and closes it. */
  readonly cutoff: Cutoff;
  /** Whether whatever a connection reads is read for this exchange alone, and can be freed after it. */
  readonly ownsReads: boolean;
  /** How much was sent to others until now, which a long body is held back for. */
  readonly piecesSent?: (() => number) | undefined;
  /** Told as the request goes out. */
  readonly onSent?: (() => void) | undefined;
  /** Asked for what takes the body of a 200; without it the body is collected. */
  readonly openReader?: ((head: Head) => BodyReader) | undefined;
}

/** Enough for a 422 with its entries. A longer body of a failure is not worth waiting for. */
const maxFailureBodyBytes = 64 * 1024;

/** Sends one GET. Rejects with nothing but what the reader throws. */
export function exchange(dispatcher: Dispatcher, request: ExchangeRequest): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    let settled = false;
    let abort: (() => void) | null = null;
    let head: Head | null = null;
    let intake: PacedReader | null = null;
    let size = 0;
    /** In its buffer is the head as well. */
    let firstChunk: Buffer | null = null;
    let received: ByteCollector | null = null;

    const leave = (): boolean => {
      if (settled) return false;
      settled = true;
      request.cutoff.listen(null);
      return true;
    };
    const settle = (outcome: Exchange): void => {
      if (!leave()) return;
      if (outcome.kind === "answered") return resolve(outcome);
      // Any other status than 200 has said enough, whatever became of its body.
      if (head && head.status !== 200) resolve({ kind: "answered", ...head, body: null });
      else resolve(outcome);
      abort?.();
    };
    const stop = (): void => settle({ kind: "stopped", status: head?.status ?? null });
    const limit = ({ status }: Head, bytes: number): void => {
      const maxBytes = status === 200 ? request.maxBodyBytes : maxFailureBodyBytes;
      if (bytes > maxBytes) settle({ kind: "too_large", status });
    };
    const readerEnds = {
      isGivenUp: () => settled,
      done(isWhole: boolean): void {
        if (head) settle({ kind: "answered", ...head, body: null });
        // As garbage it would outlive many polls, and count among what makes V8 collect it.
        if (isWhole && firstChunk && request.ownsReads) freeSoon(firstChunk);
        // A reader that has seen enough needs no more of the body.
        if (!isWhole) abort?.();
      },
      failed(error: unknown): void {
        if (!leave()) return;
        reject(error instanceof Error ? error : new TypeError("The reader threw what is no error"));
        abort?.();
      },
    };

    if (request.cutoff.isEnded) return stop();
    request.cutoff.listen(stop);
    dispatcher.dispatch(
      { method: "GET", origin: request.origin, path: request.path, headers: request.headers },
      {
        onRequestStart(controller) {
          abort = () => controller.abort(new Error("given up"));
          // A request only starts once there is a connection; by then it may be given up.
          if (settled) abort();
          else request.onSent?.();
        },
        onResponseStart(controller, status, headers) {
          if (status < 200) return;
          head = { status, header: (name) => firstOf(headers[name]) };
          limit(head, Number(head.header("content-length") ?? 0));
          if (settled || status !== 200 || !request.openReader) return;
          intake = paceReader(request.openReader(head), controller, readerEnds, request.piecesSent);
        },
        onResponseData(_controller, chunk) {
          if (size === 0) firstChunk = chunk;
          size += chunk.length;
          if (head) limit(head, size);
          if (settled) return;
          if (intake) intake.push(chunk);
          else (received ??= createByteCollector()).add(chunk);
        },
        onResponseEnd() {
          if (!head) return;
          if (intake) intake.end();
          else settle({ kind: "answered", ...head, body: received?.join() ?? Buffer.alloc(0) });
        },
        onResponseError(_controller, error) {
          settle({ kind: "broken", status: head?.status ?? null, error });
        },
      },
    );
  });
}

function firstOf(values: string | string[] | undefined): string | undefined {
  return typeof values === "object" ? values[0] : values;
}
