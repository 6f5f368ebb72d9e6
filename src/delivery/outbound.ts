import { Agent, request } from "undici";
import type { Dispatcher } from "undici";
import type { Clock } from "../platform/clock.ts";
import { parseRetryAfter } from "../platform/retry-after.ts";
import type { AttemptFailure, AttemptFailureReason, SendResult } from "./receiver.ts";

export interface OutboundRequest {
  readonly url: URL;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a receiver answered; `text` is the beginning of its body. */
export interface Answer {
  readonly kind: "answered";
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number | null;
}

/** How every kind of receiver reaches the world. */
export interface Outbound {
  /** Posts once. Never rejects; the signal is the only time-out. Redirects are never followed. */
  post(request: OutboundRequest, signal: AbortSignal): Promise<Answer | AttemptFailure>;
  close(): Promise<void>;
}

export interface OutboundDeps {
  readonly clock: Clock;
  /** What the header `user-agent` says. */
  readonly userAgent: string;
  /** Stands in for the network; left out: connections are made. What it gives is destroyed here. */
  readonly createDispatcher?: (() => Dispatcher) | undefined;
}

/** No more of an answer is read: the rest of it is thrown away. */
const maxAnswerBytes = 64 * 1024;

export function createOutbound({
  clock,
  userAgent,
  createDispatcher = createAgent,
}: OutboundDeps): Outbound {
  const dispatcher = createDispatcher();
  return {
    async post({ url, body, headers }, signal) {
      try {
        const {
          statusCode,
          headers: answered,
          body: stream,
        } = await request(url, {
          method: "POST",
          dispatcher,
          signal,
          body,
          headers: { "user-agent": userAgent, ...headers },
        });
        const retryAfter = [answered["retry-after"]].flat()[0];
        const retryAfterMs = parseRetryAfter(retryAfter, clock.now().utcMs);
        // The status is the receiver's word: what becomes of the rest of its answer is no matter.
        const text = await readStart(stream).catch(() => "");
        return { kind: "answered", status: statusCode, text, retryAfterMs };
      } catch (error) {
        return readNetworkError(error);
      }
    },
    close: () => dispatcher.destroy(),
  };
}

function createAgent(): Dispatcher {
  return new Agent({ headersTimeout: 0, bodyTimeout: 0, allowH2: false });
}

/** What a status means where nothing else is known of the receiver. */
export function readAnswer({ status, retryAfterMs }: Answer): SendResult {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  return { kind: "failed", reason: readStatus(status), detail: `HTTP ${status}`, retryAfterMs };
}

function readStatus(status: number): AttemptFailureReason {
  if (status >= 500) return "server_error";
  if (status === 408) return "timeout";
  // 425 Too Early asks for the same as 429: to come again later.
  if (status === 429 || status === 425) return "rate_limited";
  if (status === 410) return "gone";
  return status >= 400 ? "rejected" : "redirect";
}

/** Leaving the loop ends the stream. */
async function readStart(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= maxAnswerBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxAnswerBytes).toString("utf8");
}

/** Only the error's code is used: its message can hold the address. */
function readNetworkError(error: unknown): AttemptFailure {
  const code =
    error instanceof Error && "code" in error && typeof error.code === "string"
      ? error.code
      : "unknown";
  const reason = /TIMEOUT|TIMEDOUT/.test(code) ? "timeout" : "network";
  return { kind: "failed", reason, detail: code, retryAfterMs: null };
}
