import { Buffer } from "node:buffer";
import { Dispatcher } from "undici";
import type { WorldTime } from "./world-time.ts";

/** How an exchange ended for the process that began it. */
export interface ExchangeEnd {
  /** `abandoned`: the process gave it up, for example at its timeout. */
  readonly how: "whole" | "broken" | "abandoned";
  readonly moment: number;
  readonly atMs: number;
  readonly utcMs: number;
}

/** A request and its answer, as the network has them. */
export interface ExchangeRecord {
  readonly sentMs: number;
  /** Null: it has not ended, or the process ended first. */
  end: ExchangeEnd | null;
}

export interface VirtualRequest {
  /** The number of the process that sent it. */
  readonly sender: number;
  readonly exchange: ExchangeRecord;
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a peer does with a request, from the moment it has come. */
export type Reaction =
  /** `after` says how long it takes. Milliseconds. */
  | { readonly kind: "breaks"; readonly afterMs: number; readonly code: string }
  | { readonly kind: "hangs" }
  | {
      readonly kind: "answers";
      readonly afterMs: number;
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly chunks: readonly (string | Uint8Array)[];
      /** How long each further chunk takes. */
      readonly chunkMs: number;
      /** After how many chunks the connection breaks; left out: it does not. */
      readonly breaksAfter?: number;
      /** The last byte has come to whoever asked. */
      readonly onWhole?: () => void;
    };

export interface Peer {
  readonly origin: string;
  receive(request: VirtualRequest): Reaction;
}

export interface NetworkOptions {
  readonly time: WorldTime;
  readonly peers: ReadonlyMap<string, Peer>;
  /** How long a request travels. Milliseconds. */
  readonly travelMs: () => number;
  /** The number of the process at this end of the network. */
  readonly sender: number;
  /** Whether it still runs. */
  readonly isAlive: () => boolean;
  /** Called before anything passes this end; the process may not live any more when it returns. */
  readonly onPassing: (what: string) => void;
}

type Handler = Dispatcher.DispatchHandler;

/** A network without connections: requests travel, and peers react, by the world's time. */
export class VirtualDispatcher extends Dispatcher {
  readonly #options: NetworkOptions;
  readonly #open = new Set<Exchange>();

  constructor(options: NetworkOptions) {
    super();
    this.#options = options;
  }

  override dispatch(request: Dispatcher.DispatchOptions, handler: Handler): boolean {
    const { isAlive, onPassing } = this.#options;
    const { sender, time } = this.#options;
    const virtual = readRequest(request, sender, { sentMs: time.nowMs, end: null });
    onPassing(`request ${virtual.method} ${virtual.origin}${virtual.path}`);
    if (!isAlive()) return true;
    const exchange = new Exchange(virtual, handler, this.#options, () => {
      this.#open.delete(exchange);
    });
    this.#open.add(exchange);
    exchange.start();
    return true;
  }

  override close(): Promise<void>;
  override close(callback: () => void): void;
  override close(callback?: () => void): Promise<void> | void {
    return callback ? this.destroy(callback) : this.destroy();
  }

  override destroy(): Promise<void>;
  override destroy(error: Error | null): Promise<void>;
  override destroy(callback: () => void): void;
  override destroy(error: Error | null, callback: () => void): void;
  override destroy(first?: Error | null | (() => void), second?: () => void): Promise<void> | void {
    const callback = typeof first === "function" ? first : second;
    for (const exchange of this.#open) exchange.abort(networkError("UND_ERR_DESTROYED"));
    if (callback) return queueMicrotask(callback);
    return Promise.resolve();
  }
}

class Exchange implements Dispatcher.DispatchController {
  aborted = false;
  paused = false;
  reason: Error | null = null;
  readonly #request: VirtualRequest;
  readonly #handler: Handler;
  readonly #options: NetworkOptions;
  readonly #onEnd: () => void;
  #ended = false;
  #held: (() => void) | null = null;
  #cancel = (): void => {};

  constructor(
    request: VirtualRequest,
    handler: Handler,
    options: NetworkOptions,
    onEnd: () => void,
  ) {
    this.#request = request;
    this.#handler = handler;
    this.#options = options;
    this.#onEnd = onEnd;
  }

  start(): void {
    queueMicrotask(() => {
      if (!this.#ended) this.#handler.onRequestStart?.(this, null);
    });
    const { time, peers, travelMs } = this.#options;
    // Not cancelled when the sender gives up or dies: what was sent arrives.
    time.setTimer(travelMs(), () => {
      const peer = peers.get(this.#request.origin);
      const refused = { kind: "breaks", afterMs: 0, code: "ECONNREFUSED" } as const;
      this.#react(peer?.receive(this.#request) ?? refused);
    });
  }

  abort(reason: Error): void {
    if (this.#ended) return;
    this.aborted = true;
    this.reason = reason;
    this.#end("abandoned");
    queueMicrotask(() => this.#handler.onResponseError?.(this, reason));
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    const held = this.#held;
    this.#held = null;
    if (held) queueMicrotask(held);
  }

  #react(reaction: Reaction): void {
    switch (reaction.kind) {
      case "hangs":
        return;
      case "breaks":
        return this.#later(reaction.afterMs, `broken ${reaction.code}`, () =>
          this.#break(reaction.code),
        );
      case "answers": {
        const { afterMs, status, headers = {} } = reaction;
        return this.#later(afterMs, `answer ${status}`, () => {
          this.#handler.onResponseStart?.(this, status, { ...headers }, "");
          this.#sendChunk(reaction, 0);
        });
      }
    }
  }

  #sendChunk(answer: Extract<Reaction, { kind: "answers" }>, index: number): void {
    if (this.#ended) return;
    if (this.paused) {
      this.#held = () => this.#sendChunk(answer, index);
      return;
    }
    if (index === answer.breaksAfter) return this.#break("UND_ERR_SOCKET");
    const chunk = answer.chunks[index];
    if (chunk === undefined) {
      this.#end("whole");
      answer.onWhole?.();
      this.#handler.onResponseEnd?.(this, {});
      return;
    }
    this.#handler.onResponseData?.(this, Buffer.from(chunk));
    this.#later(answer.chunkMs, "chunk", () => this.#sendChunk(answer, index + 1));
  }

  #break(code: string): void {
    if (this.#ended) return;
    this.#end("broken");
    this.#handler.onResponseError?.(this, networkError(code));
  }

  #later(ms: number, what: string, action: () => void): void {
    if (this.#ended || !this.#options.isAlive()) return;
    this.#cancel = this.#options.time.setTimer(ms, () => {
      this.#options.onPassing(what);
      if (this.#options.isAlive()) action();
    });
  }

  #end(how: ExchangeEnd["how"]): void {
    this.#ended = true;
    const { moment, nowMs: atMs, utcMs } = this.#options.time;
    if (this.#options.isAlive()) this.#request.exchange.end = { how, moment, atMs, utcMs };
    this.#cancel();
    this.#onEnd();
  }
}

function readRequest(
  request: Dispatcher.DispatchOptions,
  sender: number,
  exchange: ExchangeRecord,
): VirtualRequest {
  const { origin, method, path, headers, body } = request;
  return {
    sender,
    exchange,
    origin: String(origin),
    method,
    path,
    headers: readHeaders(headers),
    body: typeof body === "string" ? body : "",
  };
}

function readHeaders(headers: Dispatcher.DispatchOptions["headers"]): Record<string, string> {
  const read: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {}))
    read[name.toLowerCase()] = String(value);
  return read;
}

function networkError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
