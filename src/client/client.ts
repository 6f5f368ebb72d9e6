// For whoever compiles against it without this library: `Symbol.asyncDispose` is of it.
/// <reference lib="esnext.disposable" preserve="true" />

import type { Deviation } from "../service/deviations.ts";
import type { CallFailure } from "../service/failure.ts";
import type { JsonValue } from "../service/json.ts";
import type { Universe, User, WhiteLabel } from "../service/responses.ts";
import type { WholeListing } from "../service/responses.ts";

export interface ClientOptions {
  /**
   * Of one deployment of the service; it may hold a path. It must be https, or lead to this machine,
   * unless `allowHttp` says otherwise: the key is sent to it.
   */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** For a whole call, to the last byte: from 1 to 2,147,483,647. Left out: 10 seconds. */
  readonly timeoutMs?: number;
  /** Of one answer. Left out: 64 MiB. */
  readonly maxBodyBytes?: number;
  /** How it names itself to the service. */
  readonly userAgent?: string;
  /** Lets the key be sent without encryption. */
  readonly allowHttp?: boolean;
}

export interface CallOptions {
  /** Ends the call at once: it then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A call that gave what it promises. */
export interface CallSuccess<T> {
  readonly kind: "ok";
  readonly value: T;
  /** The HTTP status. */
  readonly status: number;
  /** Where the answer differs from what the interface promises; never a value. */
  readonly deviations: readonly Deviation[];
}

/** Whatever the service or the network does ends in one of these. */
export type CallResult<T> = CallSuccess<T> | CallFailure;

/**
 * The five operations of the service. What the service or the network does comes as a value, told
 * apart by its `kind`; `orThrow` makes an error of what is none. A call rejects with nothing but a
 * RangeError for an id that no path can hold (an empty one, `.`, `..` and text with lone
 * surrogates), and with the reason of its own signal.
 *
 * Nothing is retried, no redirect is followed, and no limit of the service is kept: a refusal for
 * want of patience says in `retryAfterMs` how long to wait.
 */
export interface Client {
  listSandboxes(options?: CallOptions): Promise<CallResult<WholeListing>>;
  getUser(userId: string, options?: CallOptions): Promise<CallResult<User>>;
  listUniverses(options?: CallOptions): Promise<CallResult<readonly Universe[]>>;
  /** The interface document does not say what it holds. */
  getUniverseData(universeId: string, options?: CallOptions): Promise<CallResult<JsonValue>>;
  /** One that was not successful is a value too: its `success` is false, and its `message` says why. */
  getWhiteLabel(clientId: string, options?: CallOptions): Promise<CallResult<WhiteLabel>>;
  /**
   * Ends the calls in flight, which then fail for the reason "network" as "stopped", as do calls that
   * are made later. A process with nothing in flight ends without it, too.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
