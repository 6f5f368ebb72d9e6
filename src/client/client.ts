// For users who compile without this library, which declares `Symbol.asyncDispose`.
/// <reference lib="esnext.disposable" preserve="true" />

import { leavesUnencrypted, parseBaseUrl } from "../config/address.ts";
import type { Deviation, OperationProblem } from "../fleet/deviation.ts";
import type { FailureReason } from "../fleet/model.ts";
import { systemClock } from "../lib/clock.ts";
import { Secret } from "../lib/secret.ts";
import { createServiceClient } from "../service/client.ts";
import type { CallFailure, ValidationEntry } from "../service/failure.ts";
import type { JsonValue } from "../service/json-value.ts";
import type { Lookup } from "../service/operations.ts";
import { readListing, readUniverses, readUser, readWhiteLabel } from "../service/responses.ts";
import type { Universe, User, WhiteLabel, WholeListing } from "../service/responses.ts";

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

/**
 * A client of one deployment of the service, with one key.
 *
 * @throws {TypeError} for options that cannot be used; no message holds the address or the key
 */
export function createClient(options: ClientOptions): Client {
  const { timeoutMs = 10_000, maxBodyBytes = 64 * 2 ** 20 } = options;
  const { userAgent = "sandwatch-client", apiKey: key, baseUrl: written } = options;
  const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;
  check(isWhole(timeoutMs) && timeoutMs < 2 ** 31, "timeoutMs must be a whole number below 2^31");
  check(isWhole(maxBodyBytes), "maxBodyBytes must be a whole number");
  check(/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(userAgent), "userAgent must be visible ASCII");
  check(
    typeof key === "string" && /^[\x21-\x7e]+$/.test(key),
    "apiKey must be an API key: visible ASCII without blanks",
  );
  const baseUrl = typeof written === "string" ? parseBaseUrl(written) : undefined;
  if (baseUrl === undefined) {
    throw new TypeError(
      "baseUrl must be an https address without user, password, query and fragment",
    );
  }
  check(
    options.allowHttp === true || !leavesUnencrypted(new URL(baseUrl)),
    "baseUrl must be https, or the key would be sent unencrypted; allowHttp allows it",
  );

  const region = "service";
  const service = createServiceClient({
    regions: new Map([[region, { baseUrl }]]),
    timeoutMs,
    maxBodyBytes,
    userAgent,
    clock: systemClock,
  });
  const apiKey = new Secret(key);
  const look = async (
    lookup: Lookup,
    { signal }: CallOptions = {},
  ): Promise<CallResult<JsonValue>> => {
    signal?.throwIfAborted();
    // A request is sent again only when its kept connection turned out dead.
    const mayResend = (): boolean => true;
    const call = { region, apiKey, mayResend, ...(signal && { signal }) };
    const result = await service.look(call, lookup);
    if (result.kind === "failed") signal?.throwIfAborted();
    return result;
  };
  const close = (): Promise<void> => service.close();
  return {
    listSandboxes: (call) => look({ operation: "list_sandboxes" }, call).then(as(readListing)),
    getUser: (id, call) => look({ operation: "get_user", id }, call).then(as(readUser)),
    listUniverses: (call) => look({ operation: "list_universes" }, call).then(as(readUniverses)),
    getUniverseData: (id, call) => look({ operation: "get_universe_data", id }, call),
    getWhiteLabel: (id, call) =>
      look({ operation: "get_white_label", id }, call).then(as(readWhiteLabel)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function check(isRight: boolean, message: string): void {
  if (!isRight) throw new TypeError(message);
}

/** The service's client has checked the overall shape of the response. */
function as<T>(read: (body: JsonValue) => T | null) {
  return (result: CallResult<JsonValue>): CallResult<T> => {
    if (result.kind === "failed") return result;
    const value = read(result.value);
    if (value === null) throw new TypeError("the response must have the shape of its operation");
    return { ...result, value };
  };
}

/** A failed call as an error. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly reason: FailureReason;
  /** Of the HTTP response; null: there was none. */
  readonly status: number | null;
  /** The `Retry-After` of a 429 or 5xx. */
  readonly retryAfterMs: number | null;
  /** What a 422 says about the input; otherwise empty. */
  readonly validation: readonly ValidationEntry[];
  readonly deviations: readonly Deviation[];
  /** Whether the operation itself is missing or was moved; otherwise null. */
  readonly problem: OperationProblem | null;

  constructor(failure: CallFailure) {
    super(`The call failed (${failure.reason}): ${failure.detail}`);
    this.reason = failure.reason;
    this.status = failure.status;
    this.retryAfterMs = failure.retryAfterMs;
    this.validation = failure.validation;
    this.deviations = failure.deviations;
    this.problem = failure.problem ?? null;
  }
}

/** The value of a successful call. @throws {CallError} when the call failed */
export function orThrow<T>(result: CallResult<T>): T {
  if (result.kind === "ok") return result.value;
  throw new CallError(result);
}
