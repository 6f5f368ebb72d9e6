import { constants } from "node:buffer";
import type { Socket } from "node:net";
import { type buildConnector, Client, type Dispatcher, Pool } from "undici";
import type { Instant } from "../fleet/model.ts";
import type { Clock } from "../lib/clock.ts";
import { createConnector, type Connector, type Route } from "../lib/connector.ts";
import {
  type Answer,
  type Broken,
  exchange,
  type Exchange,
  type ExchangeRequest,
} from "./http-get.ts";
import { type CallFailure, connectionFailure, failure, stopped } from "./failure.ts";

export interface ConnectionOptions {
  /** Can have a path, such as `https://host/us`. */
  readonly baseUrl: string;
  /** Default: directly. */
  readonly route?: Route | undefined;
  /** For a whole request, to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Whether this process may call now. Asked right before each request is sent; otherwise it ends as stopped. */
  readonly mayAct?: (() => boolean) | undefined;
  /** A further request waits for one of them. */
  readonly mostConnections: number;
  readonly clock: Clock;
  /** Replaces the network. Each dispatcher is destroyed here. */
  readonly createDispatcher?: (() => Dispatcher) | undefined;
}

export interface Request extends Pick<ExchangeRequest, "path" | "headers" | "onSent" | "buffer"> {
  readonly signal?: AbortSignal | undefined;
  /** Whether the request may be sent again because its kept connection turned out dead. */
  readonly mayResend: () => boolean;
  /** Of the body of a 200, where that is less than the limit of all requests. */
  readonly maxBodyBytes?: number | undefined;
}

/** Longer than any sensible poll interval; undici's own default of 4 s is shorter than most. */
const keepAliveMs = 10 * 60 * 1000;

/** How long no connection is kept after a kept one broke: the service may end each at its next use. */
const distrustMs = 10 * 60 * 1000;

/** The wall clock may gain as much on the monotonic one during a request without one of them having been set. */
const slackMs = 5_000;

const poolSettings = {
  // Otherwise the pool begins no second connection before the first has shown which protocol it speaks.
  allowH2: false,
  keepAliveTimeout: keepAliveMs,
  keepAliveMaxTimeout: keepAliveMs,
  // The whole request has its time-out, on the injected clock.
  headersTimeout: 0,
  bodyTimeout: 0,
};

/** The connections to one deployment of the service. */
export function createConnections(options: ConnectionOptions) {
  const { clock, timeoutMs, mostConnections, createDispatcher, mayAct = () => true } = options;
  const { origin, pathname } = new URL(options.baseUrl);
  const basePath = pathname.replace(/\/+$/, "");
  // A longer body could not become a string, let alone JSON.
  const maxCollectedBytes = Math.min(options.maxBodyBytes, constants.MAX_STRING_LENGTH);
  // A tunnel ends before the request does, so that it is said that the proxy did not answer.
  const tunnelTimeoutMs = timeoutMs * 0.75;
  const connector = createConnector({ ...options.route, timeoutMs, tunnelTimeoutMs });
  const watched = watchConnections(connector);
  const settings = { connect: watched.connect, ...poolSettings };
  const pool =
    createDispatcher?.() ?? new Pool(origin, { ...settings, connections: mostConnections });
  const stops = new Set<() => void>();
  let isClosed = false;
  let freshUntilMs = Number.NEGATIVE_INFINITY;

  return {
    /** Sends one GET. Never rejects. */
    async get(request: Request): Promise<Answer | CallFailure> {
      const { signal, buffer, headers, mayResend } = request;
      const ownBytes = buffer ? options.maxBodyBytes : maxCollectedBytes;
      const maxBodyBytes = Math.min(ownBytes, request.maxBodyBytes ?? ownBytes);
      const path = basePath + request.path;
      let isSent = false;
      const onSent = (): void => {
        if (!mayAct()) return end(stopped);
        isSent = true;
        request.onSent?.();
      };
      let running: Exchange | null = null;
      let cause: CallFailure | null = isClosed || signal?.aborted ? stopped : null;
      const end = (why: CallFailure): void => {
        cause ??= why;
        running?.end(cause);
      };
      const send = (dispatcher: Dispatcher): Exchange["outcome"] => {
        if (cause) return Promise.resolve(cause);
        running = exchange(dispatcher, { origin, path, headers, maxBodyBytes, onSent, buffer });
        return running.outcome;
      };
      const sendFresh = async (): Exchange["outcome"] => {
        const fresh = createDispatcher?.() ?? new Client(origin, settings);
        try {
          return await send(fresh);
        } finally {
          await fresh.destroy();
        }
      };
      /**
       * Using a kept connection may be the only way to find out that the other side closed it. The request can then be
       * sent again, on a connection of its own (RFC 9112, section 9.3.1). For a new connection nothing is sent twice.
       */
      const sendKept = async (): Exchange["outcome"] => {
        const { monotonicMs } = clock.now();
        if (monotonicMs < freshUntilMs) return sendFresh();
        const brokeUsedConnection = watched.watchUsedConnections();
        const first = await send(pool);
        if (first.kind !== "broken" || !brokeUsedConnection(first)) return first;
        freshUntilMs = monotonicMs + distrustMs;
        return mayResend() ? sendFresh() : first;
      };

      const stop = (): void => end(stopped);
      const started = clock.now();
      const timedOut = (): CallFailure => {
        const unanswered = `no complete response within ${timeoutMs / 1_000} s`;
        return failure("timeout", isSent ? unanswered : "no connection in time");
      };
      const cancelTimeout = clock.setTimer(timeoutMs, () => end(timedOut()));
      stops.add(stop);
      signal?.addEventListener("abort", stop);
      try {
        const result = await sendKept();
        // After the process was stopped, the response of that time may be read before the timer can fire.
        if (passedMs(started, clock.now()) > timeoutMs) return timedOut();
        return result.kind === "broken" ? connectionFailure(result.error, result.status) : result;
      } finally {
        cancelTimeout();
        stops.delete(stop);
        signal?.removeEventListener("abort", stop);
      }
    },
    /** Ends every request at once, later ones too. */
    async close(): Promise<void> {
      isClosed = true;
      for (const stop of stops) stop();
      connector.close();
      await pool.destroy();
    },
  };
}

/**
 * The monotonic clock of Linux stands still while the machine is suspended, so only the wall clock shows that a response
 * is of the time before. A wall clock that was set forward looks the same: it costs a request that was in progress.
 */
function passedMs(from: Instant, to: Instant): number {
  return Math.max(to.monotonicMs - from.monotonicMs, to.utcMs - from.utcMs - slackMs);
}

/** Watches which connections of a connector have carried an answer. */
function watchConnections(connector: Connector) {
  /** Of an error that broke a connection: how many requests had been dispatched when it last brought bytes. */
  const lastReadAt = new WeakMap<object, number>();
  let dispatched = 0;

  const watch = (socket: Socket): void => {
    let readAt: number | null = null;
    socket.on("readable", () => {
      if (socket.readableLength > 0) readAt = dispatched;
    });
    socket.prependListener("error", (error) => {
      if (readAt !== null) lastReadAt.set(error, readAt);
    });
  };

  const connect: buildConnector.connector = (options, callback) => {
    connector.connect(options, (...result) => {
      const [, socket] = result;
      if (socket) watch(socket);
      callback(...result);
    });
  };
  return {
    connect,
    /**
     * To be called as a request is dispatched. The returned function says of its error whether it broke a connection that had carried an
     * answer before, and before a byte of this answer came: one request at a time goes over a connection, so one that
     * takes a new request and was read from has carried a whole answer.
     */
    watchUsedConnections() {
      const number = ++dispatched;
      return ({ error, status }: Broken): boolean => {
        const readAt = typeof error === "object" && error ? lastReadAt.get(error) : undefined;
        return status === null && readAt !== undefined && readAt < number;
      };
    },
  };
}
