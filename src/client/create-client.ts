import { leavesUnencrypted, parseBaseUrl } from "../config/address.ts";
import { systemClock } from "../lib/clock.ts";
import { Secret } from "../lib/secret.ts";
import { createServiceClient } from "../service/client.ts";
import type { CallResult } from "../service/client.ts";
import type { JsonValue } from "../service/json.ts";
import type { Lookup } from "../service/operations.ts";
import { readListing, readUniverses, readUser, readWhiteLabel } from "../service/responses.ts";
import type { CallOptions, Client, ClientOptions } from "./client.ts";

const longestMs = 2 ** 31 - 1;
const usual = { timeoutMs: 10_000, maxBodyBytes: 64 * 2 ** 20, userAgent: "sandwatch-client" };

/** The only region of a client. */
const region = "service";

/**
 * A client of one deployment of the service, with one key.
 *
 * @throws {TypeError} for options that cannot be used; no message holds the address or the key
 */
export function createClient(options: ClientOptions): Client {
  const { timeoutMs, maxBodyBytes, userAgent } = { ...usual, ...defined(options) };
  checkNumber("timeoutMs", timeoutMs, longestMs);
  checkNumber("maxBodyBytes", maxBodyBytes, Number.MAX_SAFE_INTEGER);
  if (typeof userAgent !== "string" || !/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(userAgent)) {
    throw new TypeError("userAgent must be visible ASCII");
  }
  const apiKey = checkKey(options.apiKey);
  const service = createServiceClient({
    regions: new Map([[region, { baseUrl: checkAddress(options) }]]),
    timeoutMs,
    maxBodyBytes,
    userAgent,
    clock: systemClock,
  });

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

/** The service's client has checked the overall shape of the response. */
function as<T>(read: (body: JsonValue) => T | null) {
  return (result: CallResult<JsonValue>): CallResult<T> => {
    if (result.kind === "failed") return result;
    const value = read(result.value);
    if (value === null) throw new TypeError("the response must have the shape of its operation");
    return { ...result, value };
  };
}

/** An option that is undefined has its default. */
function defined(options: ClientOptions): Partial<ClientOptions> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function checkNumber(name: string, value: number, most: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return;
  throw new TypeError(`${name} must be a whole number from 1 to ${most}`);
}

function checkKey(key: unknown): Secret {
  if (typeof key === "string" && /^[\x21-\x7e]+$/.test(key)) return new Secret(key);
  throw new TypeError("apiKey must be an API key: visible ASCII without blanks");
}

function checkAddress({ baseUrl, allowHttp = false }: ClientOptions): string {
  const address = typeof baseUrl === "string" ? parseBaseUrl(baseUrl) : undefined;
  if (address === undefined) {
    throw new TypeError(
      "baseUrl must be an https address without user, password, query and fragment",
    );
  }
  if (allowHttp || !leavesUnencrypted(new URL(address))) return address;
  throw new TypeError(
    "baseUrl must be https, or the key would be sent unencrypted; allowHttp allows it",
  );
}
