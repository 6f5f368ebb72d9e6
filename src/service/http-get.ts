import { Buffer } from "node:buffer";
import type { Dispatcher } from "undici";
import { BodyBuffer } from "./response-body.ts";
import { BodyDecoder, readEncoding } from "./response-body.ts";
import { type CallFailure, failure } from "./failure.ts";

/** A whole answer, of any status. */
export interface Answer {
  readonly kind: "answered";
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  /** Decoded. Null where the status is not 200 and the body is too long, hangs, breaks off or cannot be decoded. */
  readonly body: Buffer | null;
}

/** The connection broke. */
export interface Broken {
  readonly kind: "broken";
  readonly status: number | null;
  readonly error: unknown;
}

export interface ExchangeRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Limit for the body of a 200, both before and after decoding. */
  readonly maxBodyBytes: number;
  readonly onSent?: (() => void) | undefined;
  /** Takes the body of a 200. Default: a new one. */
  readonly buffer?: BodyBuffer | undefined;
}

export interface Exchange {
  /** Never rejects. */
  readonly outcome: Promise<Answer | Broken | CallFailure>;
  /** Ends it at once, whatever the connection is doing, and closes that. */
  end(cause: CallFailure): void;
}

/** Enough for a 422 with its entries. A longer body of a failure is not worth waiting for. */
const maxFailureBodyBytes = 64 * 1024;

/** Sends one GET. */
export function exchange(dispatcher: Dispatcher, request: ExchangeRequest): Exchange {
  const { promise: outcome, resolve } = Promise.withResolvers<Answer | Broken | CallFailure>();
  let isSettled = false;
  let abort: (() => void) | null = null;
  let head: Pick<Answer, "status" | "header"> | null = null;
  let body = new BodyBuffer(maxFailureBodyBytes);
  let maxBytes = maxFailureBodyBytes;
  let decoder: BodyDecoder | null = null;
  let size = 0;

  const settle = (result: Answer | Broken | CallFailure): void => {
    if (isSettled) return;
    isSettled = true;
    decoder?.destroy();
    if (result.kind === "answered") return resolve(result);
    // With a status other than 200, the body is not needed.
    const isEnough = head !== null && head.status !== 200;
    resolve(isEnough && head ? { kind: "answered", ...head, body: null } : result);
    abort?.();
  };
  const status = (): number | null => head?.status ?? null;
  const onTooLarge = (): void =>
    settle(failure("too_large", `the body is longer than ${maxBytes} bytes`, { status: status() }));
  const onUndecodable = (detail: string): void =>
    settle(failure("invalid_body", detail, { status: status() }));
  const onData = (chunk: Buffer): void => {
    if (!isSettled && !body.append(chunk)) onTooLarge();
  };
  const onEnd = (): void => {
    if (!isSettled && head) settle({ kind: "answered", ...head, body: body.bytes });
  };

  dispatcher.dispatch(
    { method: "GET", origin: request.origin, path: request.path, headers: request.headers },
    {
      onRequestStart(controller) {
        abort = () => controller.abort(new Error("stopped"));
        // A request only starts once there is a connection; by then it may have been ended.
        if (isSettled) abort();
        else request.onSent?.();
      },
      onResponseStart(source, code, headers) {
        if (code < 200) return;
        head = { status: code, header: (name) => [headers[name]].flat()[0] };
        if (code === 200) {
          maxBytes = request.maxBodyBytes;
          body = request.buffer ?? new BodyBuffer(maxBytes);
        }
        const announcedBytes = Number(head.header("content-length") ?? 0);
        if (announcedBytes > maxBytes) return onTooLarge();
        const encodings = readEncoding(headers["content-encoding"] ?? "");
        if (typeof encodings === "string") return onUndecodable(encodings);
        if (encodings.length === 0) return body.reserve(announcedBytes);
        const onBroken = (): void =>
          onUndecodable("the body does not match its content-encoding, or is incomplete");
        const events = { onData, onEnd, onTooLarge, onBroken };
        decoder = new BodyDecoder({ encodings, maxBytes, source, ...events });
      },
      onResponseData(_, chunk) {
        size += chunk.length;
        if (size > maxBytes) onTooLarge();
        if (isSettled) return;
        if (decoder) return decoder.push(chunk);
        onData(chunk);
        // The chunk was copied. As garbage outside of the heap, chunks of a large body make V8 collect all of its heap.
        freeSoon(chunk);
      },
      onResponseEnd() {
        if (decoder) decoder.end();
        else onEnd();
      },
      onResponseError: (_, error) => settle({ kind: "broken", status: status(), error }),
    },
  );
  return { outcome, end: (cause) => settle({ ...cause, status: status() }) };
}

/**
 * Frees the memory of bytes that are no longer used, after the current turn of the event loop, as the caller may still
 * read other parts of the buffer. Otherwise thousands of buffers outside of the heap would make V8 collect all of its
 * heap. Buffers in Node's own pool are not freed: they share their memory with others.
 */
export function freeSoon(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (!(buffer instanceof ArrayBuffer) || mayBePooled(bytes)) return;
  setImmediate(() => {
    if (!buffer.detached) buffer.transfer(0);
  });
}

/** Parts of the pool are shorter than half of it. */
function mayBePooled({ buffer, length }: Uint8Array): boolean {
  return buffer.byteLength === Buffer.poolSize && length < Buffer.poolSize / 2;
}
