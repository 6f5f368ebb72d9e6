// For users who compile without this library, which declares `Symbol.asyncDispose`.
/// <reference lib="esnext.disposable" preserve="true" />

import type { Deviation } from "../fleet/deviation.ts";
import type { CallFailure } from "../service/failure.ts";
import type { JsonValue } from "../service/json.ts";
import type { Universe, User, WhiteLabel } from "../service/responses.ts";
import type { WholeListing } from "../service/responses.ts";

export interface ClientOptions {
  /**
   * Of one deployment of the service, possibly with a path. It must be https or this machine unless
   * `allowHttp` is set, as the key is sent to it.
   */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** For a whole call, to the last byte: from 1 to 2,147,483,647. Default: 10 seconds. */
  readonly timeoutMs?: number;
  /** Of one response. Default: 64 MiB. */
  readonly maxBodyBytes?: number;
  /** The User-Agent header. */
  readonly userAgent?: string;
  /** Allows the key to be sent without encryption. */
  readonly allowHttp?: boolean;
}

export interface CallOptions {
  /** Ends the call at once: it rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** A successful call. */
export interface CallSuccess<T> {
  readonly kind: "ok";
  readonly value: T;
  /** The HTTP status. */
  readonly status: number;
  /** Where the response deviates from the interface; never a value. */
  readonly deviations: readonly Deviation[];
}

/** Whatever the service or the network does results in one of these. */
export type CallResult<T> = CallSuccess<T> | CallFailure;

/**
 * The five operations of the service. A failure of the service or the network is a value with the `kind`
 * "failed"; `orThrow` makes an error of it. A call rejects only with a RangeError for an id that no path
 * can contain (an empty one, `.`, `..` and text with lone surrogates), and with the reason of its signal.
 *
 * Nothing is retried, no redirect is followed, and no rate limit is kept: `retryAfterMs` of a 429 says how
 * long to wait.
 */
export interface Client {
  listSandboxes(options?: CallOptions): Promise<CallResult<WholeListing>>;
  getUser(userId: string, options?: CallOptions): Promise<CallResult<User>>;
  listUniverses(options?: CallOptions): Promise<CallResult<readonly Universe[]>>;
  /** The interface document does not describe its content. */
  getUniverseData(universeId: string, options?: CallOptions): Promise<CallResult<JsonValue>>;
  /** An unsuccessful one is a value too: `success` is false, and `message` says why. */
  getWhiteLabel(clientId: string, options?: CallOptions): Promise<CallResult<WhiteLabel>>;
  /**
   * Ends calls in progress; these and later calls fail with the reason "network" and the detail "stopped".
   * A process without calls in progress ends also without it.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
