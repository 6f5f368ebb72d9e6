import { constants } from "node:buffer";
import { Client, type Dispatcher, Pool } from "undici";
import type { Clock } from "../lib/clock.ts";
import type { BodyBuffer } from "./body-buffer.ts";
import { createConnector } from "./connector.ts";
import { Cutoff, SignalCutoffs } from "./cutoff.ts";
import { exchange, type Exchange, type ExchangeRequest } from "./exchange.ts";
import { type CallFailure, connectionFailure, failure } from "./failure.ts";

export interface TransportOptions {
  /** May hold a path, which every request's path is put after. */
  readonly baseUrl: string;
  /** For a whole request, to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly clock: Clock;
  /** Stands in for the network; left out: connections are made. What it gives is destroyed here. */
  readonly createDispatcher?: (() => Dispatcher) | undefined;
  /** Shared with other transports whose requests end at the same signals. Left out: its own. */
  readonly signals?: SignalCutoffs;
}

export type Answer = Extract<Exchange, { kind: "answered" }>;

export interface TransportRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
  /** Whether the request may be sent once more where a kept connection turned out dead. */
  readonly mayResend: () => boolean;
  /** Told each time that it goes out. */
  readonly onSent?: (() => void) | undefined;
  /** Of a 200's body, where that is less than the transport's own limit. */
  readonly maxBodyBytes?: number | undefined;
  /** Takes the body of a 200; without it a new one does, which is limited to what becomes a string. */
  readonly buffer?: BodyBuffer | undefined;
}

/** The connections to one deployment of the service. */
export interface Transport {
  /**
   * Sends one GET; an answer of any status is an answer. Never rejects.
   */
  get(request: TransportRequest): Promise<Answer | CallFailure>;
  /** Ends every request at once, those still to come included. */
  close(): Promise<void>;
}

/** Longer than any sensible poll interval; undici's own default of 4 s is shorter than most. */
const keepAliveMs = 10 * 60 * 1000;

/** How long no connection is kept after a kept one broke: the service may end each at its next use. */
const distrustMs = 10 * 60 * 1000;

const stopped = failure("network", "stopped");

export function createTransport(options: TransportOptions): Transport {
  const { origin, pathname } = new URL(options.baseUrl);
  const basePath = pathname.replace(/\/+$/, "");
  // A longer body that is collected could not become a string, let alone JSON.
  const maxCollectedBytes = Math.min(options.maxBodyBytes, constants.MAX_STRING_LENGTH);
  const connector = createConnector(options.timeoutMs);
  const connectionOptions = {
    connect: connector.connect,
    // Else the pool begins no second connection before the first has told which protocol it speaks.
    allowH2: false,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    // The whole request has its time-out below, on the clock that was handed in.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const { createDispatcher } = options;
  const pool = createDispatcher?.() ?? new Pool(origin, connectionOptions);
  const { signals = new SignalCutoffs() } = options;
  const underWay = new Set<Cutoff>();
  let isClosed = false;

  let freshUntilMs = Number.NEGATIVE_INFINITY;

  const sendFresh = async (request: ExchangeRequest): Promise<Exchange> => {
    const fresh = createDispatcher?.() ?? new Client(origin, connectionOptions);
    try {
      return await exchange(fresh, request);
    } finally {
      await fresh.destroy();
    }
  };

  /**
   * A kept connection that the other side closed in the meantime may only be found out by using it.
   * The request can then be sent once more, on a connection of its own (RFC 9112, section 9.3.1), and
   * for a while none is kept. A fresh connection that breaks is a failure: nothing is sent twice for
   * it.
   */
  const send = async (request: ExchangeRequest, mayResend: () => boolean): Promise<Exchange> => {
    const { monotonicMs } = options.clock.now();
    if (monotonicMs < freshUntilMs) return sendFresh(request);
    const brokeUsedConnection = connector.watchUsedConnections();
    const first = await exchange(pool, request);
    if (first.kind !== "broken" || first.status !== null) return first;
    if (!brokeUsedConnection(first.error)) return first;
    freshUntilMs = monotonicMs + distrustMs;
    return mayResend() ? sendFresh(request) : first;
  };

  return {
    async get({ path, headers, signal, mayResend, onSent, buffer, ...request }) {
      const ownBytes = buffer ? options.maxBodyBytes : maxCollectedBytes;
      const maxBodyBytes = Math.min(ownBytes, request.maxBodyBytes ?? ownBytes);
      const cutoff = new Cutoff();
      let cause = stopped;
      const cancelTimeout = options.clock.setTimer(options.timeoutMs, () => {
        cause = failure("timeout", `no whole answer within ${duration(options.timeoutMs)}`);
        cutoff.end();
      });
      underWay.add(cutoff);
      if (signal) signals.add(signal, cutoff);
      if (isClosed) cutoff.end();
      try {
        const whole = { origin, path: basePath + path, headers, maxBodyBytes };
        const sent = await send({ ...whole, cutoff, onSent, buffer }, mayResend);
        return sent.kind === "answered" ? sent : asFailure(sent, cause, maxBodyBytes);
      } finally {
        cancelTimeout();
        underWay.delete(cutoff);
        if (signal) signals.remove(signal, cutoff);
      }
    },
    async close() {
      isClosed = true;
      for (const cutoff of underWay) cutoff.end();
      connector.close();
      await pool.destroy();
    },
  };
}

function asFailure(
  sent: Exclude<Exchange, Answer>,
  cause: CallFailure,
  maxBodyBytes: number,
): CallFailure {
  switch (sent.kind) {
    case "stopped":
      return { ...cause, status: sent.status };
    case "too_large":
      return failure("too_large", `the body is longer than ${maxBodyBytes} bytes`, {
        status: sent.status,
      });
    case "undecodable":
      return failure("invalid_body", sent.detail, { status: sent.status });
    case "broken":
      return connectionFailure(sent.error, sent.status);
  }
}

function duration(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}
