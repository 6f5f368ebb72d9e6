import type { Buffer } from "node:buffer";
import type { Dispatcher } from "undici";
import { freeSoon } from "../lib/free-buffer.ts";
import { BodyBuffer } from "./body-buffer.ts";
import type { Cutoff } from "./cutoff.ts";
import { type BodyFlow, DecodedBody, readEncoding } from "./decode-body.ts";

/** What came of one request. Only "answered" holds a whole answer. */
export type Exchange =
  | (Head & {
      readonly kind: "answered";
      /**
       * Decoded. Null where the status is not 200 and the body is too long, hangs, breaks off or cannot be
       * decoded.
       */
      readonly body: Buffer | null;
    })
  | { readonly kind: "too_large"; readonly status: number }
  /** The detail says why the body cannot be decoded. */
  | { readonly kind: "undecodable"; readonly status: number; readonly detail: string }
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
  /** Of a body as it comes, and of what it is decoded to. */
  readonly maxBodyBytes: number;
  /** Ends the exchange at once, whatever the connection is doing, and closes it. */
  readonly cutoff: Cutoff;
  /** Told as the request goes out. */
  readonly onSent?: (() => void) | undefined;
  /** Takes the body of a 200; without it a new one does. */
  readonly buffer?: BodyBuffer | undefined;
}

/** Enough for a 422 with its entries. A longer body of a failure is not worth waiting for. */
const maxFailureBodyBytes = 64 * 1024;

/** Sends one GET. Never rejects. */
export function exchange(dispatcher: Dispatcher, request: ExchangeRequest): Promise<Exchange> {
  return new Promise((resolve) => {
    let settled = false;
    let abort: (() => void) | null = null;
    let head: Head | null = null;
    let body: BodyBuffer | null = null;
    /** Null for a body that is not encoded. */
    let decoded: DecodedBody | null = null;
    let size = 0;

    const leave = (): boolean => {
      if (settled) return false;
      settled = true;
      request.cutoff.listen(null);
      decoded?.destroy();
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
    const limitOf = ({ status }: Head): number =>
      status === 200 ? request.maxBodyBytes : maxFailureBodyBytes;
    const limit = (at: Head, bytes: number): void => {
      if (bytes > limitOf(at)) settle({ kind: "too_large", status: at.status });
    };
    const take = (chunk: Buffer): void => {
      if (settled || !head || !body) return;
      if (!body.append(chunk)) settle({ kind: "too_large", status: head.status });
    };
    const takeEnd = (): void => {
      if (!settled && head && body) settle({ kind: "answered", ...head, body: body.bytes });
    };
    const openDecoder = (
      at: Head,
      encoding: string | readonly string[] | undefined,
      source: BodyFlow,
    ): void => {
      if (encoding === undefined) return;
      const { status } = at;
      const read = readEncoding(encoding);
      const fail = (detail: string): void => settle({ kind: "undecodable", status, detail });
      if (read.kind === "unknown") fail(read.detail);
      else if (read.encodings.length > 0) {
        decoded = new DecodedBody(read.encodings, limitOf(at), source, {
          data: take,
          end: takeEnd,
          tooLarge: () => settle({ kind: "too_large", status }),
          broken: () => fail("the body is not what its content-encoding says, or breaks off"),
        });
      }
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
          if (settled) return;
          body =
            status === 200
              ? (request.buffer ?? new BodyBuffer(request.maxBodyBytes))
              : new BodyBuffer(maxFailureBodyBytes);
          openDecoder(head, headers["content-encoding"], controller);
        },
        onResponseData(_controller, chunk) {
          size += chunk.length;
          if (head) limit(head, size);
          if (settled) return;
          if (decoded) return decoded.push(chunk);
          take(chunk);
          // It was copied. As garbage outside of the heap, the chunks of a large body make V8 collect all of its heap.
          freeSoon(chunk);
        },
        onResponseEnd() {
          if (decoded) decoded.end();
          else takeEnd();
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
