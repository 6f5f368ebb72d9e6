import { Buffer } from "node:buffer";
import { Dispatcher } from "undici";
import type { ExchangeEnd, ExchangeRecord } from "../history.ts";
import type { WorldTime } from "./world-time.ts";

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
  | { readonly kind: "breaks"; readonly afterMs: number; readonly code: string }
  | { readonly kind: "hangs" }
  | Answer;

export interface Answer {
  readonly kind: "answers";
  readonly afterMs: number;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks: readonly (string | Uint8Array)[];
  /** How long each further chunk takes. */
  readonly chunkMs: number;
  /** After how many chunks the connection breaks. */
  readonly breaksAfter?: number;
  /** The client has received the last byte. */
  readonly onWhole?: () => void;
}

export function bodyOf({ chunks }: Answer): Buffer {
  return Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)));
}

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
  readonly isAlive: () => boolean;
  /** Called before anything passes this end; the process may be dead when it returns. */
  readonly onPassing: (what: string) => void;
}

/** A network without connections: requests travel, and peers react, by the world's time. */
export class VirtualDispatcher extends Dispatcher {
  readonly #options: NetworkOptions;
  readonly #open = new Set<Exchange>();

  constructor(options: NetworkOptions) {
    super();
    this.#options = options;
  }

  override dispatch(
    request: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const { isAlive, onPassing, sender, time } = this.#options;
    const { origin, method, path, headers, body } = request;
    const virtual: VirtualRequest = {
      sender,
      exchange: { sentMs: time.nowMs, end: null },
      origin: String(origin),
      method,
      path,
      headers: Object.fromEntries(
        Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]),
      ),
      body: typeof body === "string" ? body : "",
    };
    onPassing(`request ${method} ${virtual.origin}${path}`);
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
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #options: NetworkOptions;
  readonly #onEnd: () => void;
  #ended = false;
  #held: (() => void) | null = null;
  #cancel = (): void => {};

  constructor(
    request: VirtualRequest,
    handler: Dispatcher.DispatchHandler,
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
    // Not cancelled when the sender aborts or dies: what was sent arrives.
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
    if (reaction.kind === "hangs") return;
    if (reaction.kind === "breaks") {
      const { afterMs, code } = reaction;
      return this.#later(afterMs, `broken ${code}`, () => this.#break(code));
    }
    const { afterMs, status, headers = {} } = reaction;
    this.#later(afterMs, `answer ${status}`, () => {
      this.#handler.onResponseStart?.(this, status, { ...headers }, "");
      this.#sendChunk(reaction, 0);
    });
  }

  #sendChunk(answer: Answer, index: number): void {
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
    const { isAlive, time } = this.#options;
    if (isAlive()) this.#request.exchange.end = { how, ...time.now() };
    this.#cancel();
    this.#onEnd();
  }
}

function networkError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
