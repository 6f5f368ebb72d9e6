import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import {
  Agent,
  request as sendRequest,
  WebSocket,
  type Dispatcher,
  type buildConnector,
} from "undici";
import type { z } from "zod";
import type { LabelsOf } from "../alerts/notification.ts";
import type { Clock } from "../lib/clock.ts";
import { createConnector, directRoute, type ConnectOptions, type Route } from "../lib/connector.ts";
import { anyNetwork, whyDenied, type OutboundNetworks } from "../lib/networks.ts";
import { ProxyError, type Destination } from "../lib/proxy.ts";
import { parseRetryAfter } from "../lib/retry.ts";
import type { Secret } from "../lib/secret.ts";
import {
  failed,
  type AttemptFailure,
  type AttemptFailureReason,
  type SendResult,
} from "./receiver.ts";

interface OutboundRequest {
  readonly url: URL;
  /** Default: POST. */
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  /** Further ones, which replace none of `headers`. */
  readonly secretHeaders?: ReadonlyMap<string, Secret>;
  readonly body?: string;
}

/** The answer of a receiver; `text` is the beginning of its body. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number | null;
}

export type Outbound = ReturnType<typeof createOutbound>;

export interface SenderDeps {
  readonly outbound: Outbound;
  readonly clock: Clock;
  /** The address of sandwatch, without a slash at its end. Default: messages do not link to it. */
  readonly externalUrl?: string | null;
  /** Default: keys have none. */
  readonly labelsOf?: LabelsOf;
}

export interface OutboundDeps {
  readonly clock: Clock;
  readonly userAgent: string;
  /** Whether this process may deliver now. Asked right before each request is sent. */
  readonly mayAct: () => boolean;
  /** Replaces the network. What it returns is destroyed here. */
  readonly createDispatcher?: (() => Dispatcher) | undefined;
  /** Default: all but those that are always denied. */
  readonly networks?: OutboundNetworks;
  /** Default: directly. */
  readonly route?: Route | undefined;
  /** Resolves host names. Default: the system's resolver. */
  readonly lookup?: LookupFunction;
}

export const requestTimeoutMs = 15_000;

const maxAnswerBytes = 64 * 1024;
const maxHeaderBytes = 16 * 1024;

/** The one way in which all receivers reach the network. */
export function createOutbound(deps: OutboundDeps) {
  const { clock, userAgent, mayAct } = deps;
  const connector = createGuardedConnector(deps.networks ?? anyNetwork, deps.lookup, deps.route);
  const createAgent = (onConnected: (socket: Socket) => void = () => {}): Agent =>
    new Agent({
      connect: (options, callback) =>
        void connector.connect(options, (...result) => {
          const [, socket] = result;
          // The process may have been suspended while it connected.
          if (socket === null || mayAct()) {
            if (socket) onConnected(socket);
            return callback(...result);
          }
          socket.destroy();
          callback(new NotActiveError(), null);
        }),
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: maxHeaderBytes,
    });
  const dispatcher = deps.createDispatcher?.() ?? createAgent();

  return {
    /**
     * Makes one request, or aborts if this process may not deliver. It never rejects, ends after `requestTimeoutMs` or when
     * the signal aborts, follows no redirect, and connects to allowed addresses only.
     *
     * @param read what an answer means; default: what its status means in HTTP
     */
    async send(
      { url, method = "POST", headers, secretHeaders = noHeaders, body }: OutboundRequest,
      signal: AbortSignal,
      read: (answer: Answer) => SendResult = readAnswer,
    ): Promise<SendResult> {
      if (!mayAct()) return { kind: "aborted" };
      const timeout = new AbortController();
      const cancelTimeout = clock.setTimer(requestTimeoutMs, () => timeout.abort());
      try {
        const answered = await sendRequest(url, {
          method,
          dispatcher,
          signal: AbortSignal.any([signal, timeout.signal]),
          headers: { "user-agent": userAgent, ...revealed(secretHeaders), ...headers },
          body: body ?? null,
        });
        const [retryAfter] = [answered.headers["retry-after"]].flat();
        return read({
          status: answered.statusCode,
          // The status is the receiver's decision, however its body ends.
          text: await readStart(answered.body).catch(() => ""),
          retryAfterMs: parseRetryAfter(retryAfter, clock.now().utcMs),
        });
      } catch (error) {
        if (timeout.signal.aborted) return failed("timeout", "no answer");
        const isAborted = signal.aborted || error instanceof NotActiveError;
        return isAborted ? { kind: "aborted" } : readNetworkError(error);
      } finally {
        cancelTimeout();
      }
    },
    /**
     * Opens a WebSocket, to an allowed address. `end` ends it without waiting for the other side. The caller asks
     * `mayAct` before.
     */
    openWebSocket(url: URL): { readonly socket: WebSocket; readonly end: () => void } {
      let connection: Socket | undefined;
      const own = deps.createDispatcher?.() ?? createAgent((socket) => (connection = socket));
      const socket = new WebSocket(url, { dispatcher: own, headers: { "user-agent": userAgent } });
      const end = (): void => {
        socket.close();
        connection?.destroy();
        void own.destroy();
      };
      return { socket, end };
    },
    /** To be asked before anything is sent by another protocol than HTTP. */
    mayAct,
    /** A connection for such a protocol, to an allowed address. */
    connect: (to: Destination, signal: AbortSignal) => connector.connectTcp(to, signal),
    secureContext: connector.secureContext,
    close(): Promise<void> {
      connector.close();
      return dispatcher.destroy();
    },
  };
}

class NotActiveError extends Error {}

const noHeaders: ReadonlyMap<string, Secret> = new Map();

function revealed(headers: ReadonlyMap<string, Secret>): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from(headers, ([name, value]) => [name, value.reveal()]));
}

/** The meaning of a status for a receiver without rules of its own. */
export function readAnswer({ status, retryAfterMs }: Answer): SendResult {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  return failed(reasonOf(status), `HTTP ${status}`, retryAfterMs);
}

/** The body of an answer, if it is JSON of this form. */
export function readJson<Schema extends z.ZodType>(
  { text }: Answer,
  schema: Schema,
): z.output<Schema> | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

function reasonOf(status: number): AttemptFailureReason {
  if (status >= 500) return "server_error";
  if (status === 408) return "timeout";
  // 425 Too Early asks for the same as 429: to try again later.
  if (status === 429 || status === 425) return "rate_limited";
  if (status === 410) return "gone";
  return status >= 400 ? "rejected" : "redirect";
}

/** Leaving the loop destroys the stream. */
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

/** Only the code of the error is used: its message can contain the address. */
function readNetworkError(error: unknown): AttemptFailure {
  if (error instanceof DeniedAddressError) return failed("denied", error.why);
  if (error instanceof ProxyError) return failed(error.reason, error.message);
  const hasCode = error instanceof Error && "code" in error;
  const code = hasCode ? String(error.code) : "unknown";
  return failed(/TIMEOUT|TIMEDOUT/.test(code) ? "timeout" : "network", code);
}

/** @throws {Error} when it is not an http or https URL; the error does not contain it */
export function parseReceiverUrl(receiver: { readonly name: string; readonly url: Secret }): URL {
  const url = URL.parse(receiver.url.reveal());
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw new Error(`The url of receiver ${receiver.name} is not an http or https address.`);
}

/** A receiver's host has an address to which nothing may be sent. It names no address. */
export class DeniedAddressError extends Error {
  readonly why: string;

  constructor(why: string) {
    super("the receiver's host has an address that is denied");
    this.why = why;
  }
}

const connectTimeoutMs = 10_000;

/**
 * Connects only to addresses that are allowed. A name is resolved once for each connection, and connected to is what was
 * checked: a second answer of the resolver changes nothing. A proxy resolves names by itself. Those are resolved here
 * too if networks are configured, and what cannot be resolved is not connected to.
 */
export function createGuardedConnector(
  networks: OutboundNetworks,
  lookup: LookupFunction = systemLookup,
  route: Route = directRoute,
) {
  const checkedLookup = createCheckedLookup(networks, lookup);
  const isLimited = networks.allow !== null || networks.deny.length > 0;
  const connector = createConnector({
    ...route,
    timeoutMs: connectTimeoutMs,
    lookup: checkedLookup,
  });
  /** Why nothing may be sent to a host, as far as that is not seen when it is resolved later. */
  const check = async (to: Destination): Promise<Error | null> => {
    const { hostname } = to;
    if (isIP(hostname) !== 0) {
      // It is never looked up.
      const why = whyDenied(hostname, networks);
      return why === null ? null : new DeniedAddressError(why);
    }
    if (!isLimited || !connector.isProxied(to)) return null;
    return new Promise((resolve) => checkedLookup(hostname, { all: true }, resolve));
  };
  return {
    ...connector,
    async connect(options: ConnectOptions, callback: buildConnector.Callback): Promise<void> {
      const error = await check(options);
      if (error) callback(error, null);
      else connector.connect(options, callback);
    },
    /** The same for what is not HTTP. It rejects when the signal aborts before there is a connection. */
    async connectTcp(to: Destination, signal: AbortSignal): Promise<Socket> {
      const error = await check(to);
      if (error) throw error;
      return connector.connectTcp(to, signal);
    },
  };
}

/** One denied address among several denies the host: which one is used would be a matter of luck. */
function createCheckedLookup(networks: OutboundNetworks, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error) return callback(error, []);
      const addresses =
        typeof found === "string" ? [{ address: found, family: family ?? isIP(found) }] : found;
      const [first] = addresses;
      if (!first) return callback(new Error("the host has no address"), []);
      for (const { address } of addresses) {
        const why = whyDenied(address, networks);
        if (why !== null) return callback(new DeniedAddressError(why), []);
      }
      if (options.all === true) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });
  };
}
