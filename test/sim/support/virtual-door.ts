import { Server } from "node:http";
import { duplexPair } from "node:stream";
import type { Scrape } from "../history.ts";
import { replaceMethod } from "./statement-hook.ts";

/** The HTTP servers that a process has opened: they listen to nobody but the world. */
export interface VirtualDoor extends Disposable {
  /** What a process answers to a GET that it is asked now; "" where it answers nothing. */
  get(server: Server, path: string, onEnd: (answer: HttpAnswer | null) => void): void;
  /** Asks a process how it does. */
  scrape(server: Server, onEnd: (answers: Pick<Scrape, "ready" | "metrics">) => void): void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

const address = { address: "127.0.0.1", family: "IPv4", port: 9740 } as const;

/** Has every HTTP server listen to this world alone, until disposed of. */
export function openVirtualDoor(onListen: (server: Server) => void): VirtualDoor {
  const undo = new DisposableStack();
  replaceMethod(undo, Server.prototype, "listen", () => {
    return function (this: Server, ...parameters: unknown[]) {
      onListen(this);
      Object.defineProperties(this, {
        address: { value: () => address },
        close: {
          value: (done?: () => void) => {
            this.closeAllConnections();
            queueMicrotask(() => this.emit("close"));
            if (done) queueMicrotask(done);
            return this;
          },
        },
      });
      const callback = parameters.find((each) => typeof each === "function");
      if (callback) this.once("listening", () => void Reflect.apply(callback, this, []));
      queueMicrotask(() => this.emit("listening"));
      return this;
    };
  });
  return {
    get(server, path, onEnd) {
      const [client, other] = duplexPair();
      const chunks: Buffer[] = [];
      const end = (): void => onEnd(readAnswer(Buffer.concat(chunks).toString("utf8")));
      client.on("data", (chunk: Buffer) => chunks.push(chunk));
      client.once("end", end);
      client.once("error", end);
      server.emit("connection", other);
      client.write(`GET ${path} HTTP/1.0\r\nhost: ${address.address}:${address.port}\r\n\r\n`);
    },
    scrape(server, onEnd) {
      this.get(server, "/-/ready", (ready) => {
        this.get(server, "/metrics", (metrics) => {
          onEnd({
            ready: ready?.status ?? null,
            metrics: metrics?.status === 200 ? metrics.body : null,
          });
        });
      });
    },
    [Symbol.dispose]: () => undo.dispose(),
  };
}

function readAnswer(text: string): HttpAnswer | null {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1];
  const bodyAt = text.indexOf("\r\n\r\n");
  if (status === undefined || bodyAt < 0) return null;
  return { status: Number(status), body: text.slice(bodyAt + 4) };
}
