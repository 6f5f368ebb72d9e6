import { Server } from "node:http";
import { duplexPair } from "node:stream";
import type { Scrape } from "../history.ts";
import { replaceMethod } from "./statement-hook.ts";

const address = { address: "127.0.0.1", family: "IPv4", port: 9740 } as const;

/** Keeps every HTTP server from listening on the network, until disposed of. */
export function replaceListening(onListen: (server: Server) => void): Disposable {
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
  return undo;
}

/** Asks a server that does not listen for its readiness and metrics. */
export function scrapeServer(
  server: Server,
  onEnd: (answers: Pick<Scrape, "ready" | "metrics">) => void,
): void {
  get(server, "/-/ready", ({ status: ready }) => {
    get(server, "/metrics", ({ status, body }) => {
      onEnd({ ready, metrics: status === 200 ? body : null });
    });
  });
}

interface HttpAnswer {
  /** Null: there was no whole answer. */
  readonly status: number | null;
  readonly body: string;
}

function get(server: Server, path: string, onEnd: (answer: HttpAnswer) => void): void {
  const [client, other] = duplexPair();
  Object.assign(other, { remoteAddress: address.address });
  const chunks: Buffer[] = [];
  const end = (): void => {
    const text = Buffer.concat(chunks).toString("utf8");
    const [head = "", status, body = ""] =
      /^HTTP\/1\.[01] (\d{3}).*?\r\n\r\n(.*)$/s.exec(text) ?? [];
    onEnd({ status: head === "" ? null : Number(status), body });
  };
  // A pair hands over the very bytes that the server wrote, and the server uses their memory again.
  client.on("data", (chunk: Buffer) => chunks.push(Buffer.from(chunk)));
  client.once("end", end);
  client.once("error", end);
  server.emit("connection", Object.assign(other, { remoteAddress: address.address }));
  client.write(`GET ${path} HTTP/1.0\r\nhost: ${address.address}:${address.port}\r\n\r\n`);
}
