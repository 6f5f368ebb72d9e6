import type { Buffer } from "node:buffer";
import type { Dispatcher } from "undici";
import { createByteCollector } from "./byte-collector.ts";

/** What came of one request. Only "answered" holds a whole answer. */
export type Exchange =
  | (Head & {
      readonly kind: "answered";
      /** Null where the status is not 200 and the body is too long, hangs or breaks off. */
      readonly body: Buffer | null;
    })
  | { readonly kind: "too_large"; readonly status: number }
  | { readonly kind: "stopped"; readonly status: number | null }
  | { readonly kind: "broken"; readonly status: number | null; readonly error: unknown };

interface Head {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
}

export interface ExchangeRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxBodyBytes: number;
  /** Ends the exchange at once, whatever the connection is doing, and closes it. */
  readonly stop: AbortSignal;
}

/** Enough for a 422 with its entries. A longer body of a failure is not worth waiting for. */
const maxFailureBodyBytes = 64 * 1024;

/** Sends one GET. Never rejects. */
export function exchange(dispatcher: Dispatcher, request: ExchangeRequest): Promise<Exchange> {
  return new Promise((resolve) => {
    let settled = false;
    let abort: (() => void) | null = null;
    let head: Head | null = null;
    const received = createByteCollector();

    const settle = (outcome: Exchange): void => {
      if (settled) return;
      settled = true;
      request.stop.removeEventListener("abort", stop);
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

    if (request.stop.aborted) return stop();
    request.stop.addEventListener("abort", stop, { once: true });
    dispatcher.dispatch(
      { method: "GET", path: request.path, headers: request.headers },
      {
        onRequestStart(controller) {
          abort = () => controller.abort(new Error("given up"));
          // A request only starts once there is a connection; by then it may be given up.
          if (settled) abort();
        },
        onResponseStart(_controller, status, headers) {
          if (status < 200) return;
          head = { status, header: (name) => [headers[name]].flat()[0] };
          limit(head, Number(head.header("content-length") ?? 0));
        },
        onResponseData(_controller, chunk) {
          if (head) limit(head, received.size + chunk.length);
          if (!settled) received.add(chunk);
        },
        onResponseEnd() {
          if (!head) return;
          settle({ kind: "answered", ...head, body: received.join() });
        },
        onResponseError(_controller, error) {
          settle({ kind: "broken", status: head?.status ?? null, error });
        },
      },
    );
  });
}
