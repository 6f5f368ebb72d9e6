import { leavesUnencrypted, parseBaseUrl } from "../config/address.ts";
import { systemClock } from "../lib/clock.ts";
import { Secret } from "../lib/secret.ts";
import { createServiceClient } from "../service/client.ts";
import type { Call, CallResult } from "../service/client.ts";
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

  const perform = async <T>(
    { signal }: CallOptions,
    send: (call: Call) => Promise<CallResult<T>>,
  ): Promise<CallResult<T>> => {
    signal?.throwIfAborted();
    // A request is sent again only when its kept connection turned out dead.
    const mayResend = (): boolean => true;
    const result = await send({ region, apiKey, mayResend, ...(signal && { signal }) });
    if (result.kind === "failed") signal?.throwIfAborted();
    return result;
  };

  const close = (): Promise<void> => service.close();
  return {
    listSandboxes: (call = {}) => perform(call, (made) => service.readListing(made)),
    getUser: (id, call = {}) => perform(call, (made) => service.getUser(made, id)),
    listUniverses: (call = {}) => perform(call, (made) => service.listUniverses(made)),
    getUniverseData: (id, call = {}) => perform(call, (made) => service.getUniverseData(made, id)),
    getWhiteLabel: (id, call = {}) => perform(call, (made) => service.getWhiteLabel(made, id)),
    close,
    [Symbol.asyncDispose]: close,
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
