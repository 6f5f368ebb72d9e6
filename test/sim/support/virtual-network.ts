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
  readonly #open = new Set<Dispatcher.DispatchController>();

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
    const exchange = startExchange(virtual, handler, this.#options, () => {
      this.#open.delete(exchange);
    });
    this.#open.add(exchange);
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

/** Sends a request, and delivers what the peer does with it. */
function startExchange(
  request: VirtualRequest,
  handler: Dispatcher.DispatchHandler,
  { time, peers, travelMs, isAlive, onPassing }: NetworkOptions,
  onEnd: () => void,
): Dispatcher.DispatchController {
  let isEnded = false;
  let held: (() => void) | null = null;
  let cancel = (): void => {};

  const end = (how: ExchangeEnd["how"]): void => {
    isEnded = true;
    if (isAlive()) request.exchange.end = { how, ...time.now() };
    cancel();
    onEnd();
  };
  const later = (ms: number, what: string, action: () => void): void => {
    if (isEnded || !isAlive()) return;
    cancel = time.setTimer(ms, () => {
      onPassing(what);
      if (isAlive()) action();
    });
  };
  const breakOff = (code: string): void => {
    if (isEnded) return;
    end("broken");
    handler.onResponseError?.(controller, networkError(code));
  };
  const sendChunk = (answer: Answer, index: number): void => {
    if (isEnded) return;
    if (controller.paused) {
      held = () => sendChunk(answer, index);
      return;
    }
    if (index === answer.breaksAfter) return breakOff("UND_ERR_SOCKET");
    const chunk = answer.chunks[index];
    if (chunk === undefined) {
      end("whole");
      answer.onWhole?.();
      handler.onResponseEnd?.(controller, {});
      return;
    }
    handler.onResponseData?.(controller, Buffer.from(chunk));
    later(answer.chunkMs, "chunk", () => sendChunk(answer, index + 1));
  };
  const react = (reaction: Reaction): void => {
    if (reaction.kind === "hangs") return;
    if (reaction.kind === "breaks") {
      const { afterMs, code } = reaction;
      return later(afterMs, `broken ${code}`, () => breakOff(code));
    }
    const { afterMs, status, headers = {} } = reaction;
    later(afterMs, `answer ${status}`, () => {
      handler.onResponseStart?.(controller, status, { ...headers }, "");
      sendChunk(reaction, 0);
    });
  };
  const controller = {
    aborted: false,
    paused: false,
    reason: null as Error | null,
    abort(reason: Error): void {
      if (isEnded) return;
      controller.aborted = true;
      controller.reason = reason;
      end("abandoned");
      queueMicrotask(() => handler.onResponseError?.(controller, reason));
    },
    pause(): void {
      controller.paused = true;
    },
    resume(): void {
      controller.paused = false;
      if (held) queueMicrotask(held);
      held = null;
    },
  };

  queueMicrotask(() => {
    if (!isEnded) handler.onRequestStart?.(controller, null);
  });
  // Not cancelled when the sender aborts or dies: what was sent arrives.
  time.setTimer(travelMs(), () => {
    const refused = { kind: "breaks", afterMs: 0, code: "ECONNREFUSED" } as const;
    react(peers.get(request.origin)?.receive(request) ?? refused);
  });
  return controller;
}

function networkError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
