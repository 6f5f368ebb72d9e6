import type { LookupFunction } from "node:net";
import { Agent, request } from "undici";
import type { Dispatcher } from "undici";
import type { Clock } from "../platform/clock.ts";
import { anyNetwork } from "../platform/networks.ts";
import type { OutboundNetworks } from "../platform/networks.ts";
import { parseRetryAfter } from "../platform/retry-after.ts";
import { createGuardedConnector, DeniedAddressError } from "./guarded-connector.ts";
import type { GuardedConnector } from "./guarded-connector.ts";
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

/**
 * How every kind of receiver reaches the world. Calls never reject; the signal is their only
 * time-out. Redirects are never followed.
 */
export interface Outbound {
  post(request: OutboundRequest, signal: AbortSignal): Promise<Answer | AttemptFailure>;
  get(
    request: Omit<OutboundRequest, "body">,
    signal: AbortSignal,
  ): Promise<Answer | AttemptFailure>;
  close(): Promise<void>;
}

export interface OutboundDeps {
  readonly clock: Clock;
  /** What the header `user-agent` says. */
  readonly userAgent: string;
  /** Stands in for the network; left out: connections are made. What it gives is destroyed here. */
  readonly createDispatcher?: (() => Dispatcher) | undefined;
  /** Left out: any, but for those that are always denied. */
  readonly networks?: OutboundNetworks;
  /** Resolves names; left out: as the system does. */
  readonly lookup?: LookupFunction;
}

/** No more of an answer is read: the rest of it is thrown away. */
const maxAnswerBytes = 64 * 1024;
const maxHeaderBytes = 16 * 1024;

export function createOutbound(deps: OutboundDeps): Outbound {
  const { clock, userAgent, networks = anyNetwork, lookup } = deps;
  const connector = createGuardedConnector(networks, lookup);
  const dispatcher = deps.createDispatcher?.() ?? createAgent(connector);

  const exchange = async (
    { url, headers, body }: Omit<OutboundRequest, "body"> & { readonly body?: string },
    method: "GET" | "POST",
    signal: AbortSignal,
  ): Promise<Answer | AttemptFailure> => {
    try {
      const answered = await request(url, {
        method,
        dispatcher,
        signal,
        headers: { "user-agent": userAgent, ...headers },
        ...(body !== undefined && { body }),
      });
      const retryAfter = [answered.headers["retry-after"]].flat()[0];
      const retryAfterMs = parseRetryAfter(retryAfter, clock.now().utcMs);
      // The status is the receiver's word: what becomes of the rest of its answer is no matter.
      const text = await readStart(answered.body).catch(() => "");
      return { kind: "answered", status: answered.statusCode, text, retryAfterMs };
    } catch (error) {
      return readNetworkError(error);
    }
  };

  return {
    post: (posted, signal) => exchange(posted, "POST", signal),
    get: (asked, signal) => exchange(asked, "GET", signal),
    close() {
      connector.close();
      return dispatcher.destroy();
    },
  };
}

function createAgent({ connect }: GuardedConnector): Dispatcher {
  return new Agent({ connect, headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: maxHeaderBytes });
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
  if (error instanceof DeniedAddressError) {
    return { kind: "failed", reason: "denied", detail: error.why, retryAfterMs: null };
  }
  const code =
    error instanceof Error && "code" in error && typeof error.code === "string"
      ? error.code
      : "unknown";
  const reason = /TIMEOUT|TIMEDOUT/.test(code) ? "timeout" : "network";
  return { kind: "failed", reason, detail: code, retryAfterMs: null };
}
