import { createHash } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Duplex } from "node:stream";
import { listenOnLoopback } from "./listen.ts";

/** One connection. */
export interface WebSocketPeer {
  send(message: object): void;
  /** Closes it as a server does. */
  close(): void;
  /** It answers nothing any more, as one whose network is gone. */
  fallSilent(): void;
}

interface Handlers {
  /** Whether a path, with its query, may connect. */
  readonly accepts: (path: string) => boolean;
  readonly onOpen: (peer: WebSocketPeer) => void;
  readonly onText: (peer: WebSocketPeer, text: string) => void;
  readonly onClosed: (peer: WebSocketPeer) => void;
}

interface ServerOptions {
  /** With TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Answers other requests. */
  readonly onRequest?: RequestListener;
}

/** https://datatracker.ietf.org/doc/html/rfc6455#section-1.3 */
const handshakeId = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const opcodes = { text: 1, close: 8, ping: 9, pong: 10 } as const;

/**
 * A server of WebSockets as in RFC 6455, without extensions, for texts of less than 64 KiB in one frame.
 *
 * @returns its port
 */
export async function startWebSocketServer(
  handlers: Handlers,
  { tls, onRequest = (_, response) => void response.writeHead(426).end() }: ServerOptions = {},
): Promise<number> {
  const server = tls ? createSecureServer(tls, onRequest) : createServer(onRequest);
  server.on("upgrade", ({ url = "", headers }, socket: Duplex) => {
    socket.on("error", () => socket.destroy());
    const key = headers["sec-websocket-key"];
    if (key === undefined || !handlers.accepts(url)) {
      socket.end("HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    const accept = createHash("sha1")
      .update(key + handshakeId)
      .digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    );
    let isSilent = false;
    const write = (opcode: number, payload: Buffer): void => {
      if (!isSilent && socket.writable) socket.write(frameOf(opcode, payload));
    };
    const peer: WebSocketPeer = {
      send: (message) => write(opcodes.text, Buffer.from(JSON.stringify(message))),
      close: () => write(opcodes.close, Buffer.from([3, 232])),
      fallSilent: () => void (isSilent = true),
    };
    let unread = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      for (let frame = readFrame(unread); frame; frame = readFrame(unread)) {
        unread = unread.subarray(frame.length);
        if (isSilent) continue;
        if (frame.opcode === opcodes.text) handlers.onText(peer, frame.payload.toString());
        if (frame.opcode === opcodes.ping) write(opcodes.pong, frame.payload);
        if (frame.opcode === opcodes.close) {
          write(opcodes.close, frame.payload);
          socket.end();
        }
      }
    });
    // A client that is killed only ends its half.
    socket.on("end", () => socket.end());
    socket.on("close", () => handlers.onClosed(peer));
    handlers.onOpen(peer);
  });
  return listenOnLoopback(server);
}

function frameOf(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const header =
    length < 126
      ? Buffer.from([128 + opcode, length])
      : Buffer.from([128 + opcode, 126, length >> 8, length & 255]);
  return Buffer.concat([header, payload]);
}

/** The first frame, which a client masks; null: it is not complete. */
function readFrame(data: Buffer) {
  const [first = 0, second = 0] = data;
  if (data.length < 2) return null;
  if (first < 128 || second < 128) throw new Error("a client sent no whole masked frame");
  const short = second - 128;
  if (short === 127) throw new Error("a client sent a very long frame");
  const maskAt = short === 126 ? 4 : 2;
  if (data.length < maskAt + 4) return null;
  const size = short === 126 ? data.readUInt16BE(2) : short;
  const length = maskAt + 4 + size;
  if (data.length < length) return null;
  const mask = data.subarray(maskAt, maskAt + 4);
  const payload = Buffer.from(
    data.subarray(maskAt + 4, length).map((byte, at) => byte ^ (mask[at % 4] ?? 0)),
  );
  return { opcode: first & 15, payload, length };
}
