import { createServer, type IncomingMessage, type Server, type ServerOptions } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import { fastify, type FastifyInstance, type FastifyReply } from "fastify";
import { readTls, type TlsSettings } from "../lib/tls.ts";
import { bodyLimit, clientStatus, rawProblem, sendProblem, type Problem } from "./api/problem.ts";
import { strictHeaders } from "./browser-protection.ts";
import { limitConnections } from "./connection-limit.ts";
import type { Refusal } from "./refusals.ts";
import { oneAtATime } from "./request-queue.ts";

/** Limits of requests and connections, in bytes and milliseconds. A connection that exceeds one is closed. */
const bounds = {
  /** For all headers together. */
  maxHeaderSize: 16_384,
  /** Until a request has arrived, its body included. */
  requestTimeout: 30_000,
  /** For a connection without a request. */
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 1_000,
  /** Its own refusal would be without our headers: `checkSender` refuses instead. */
  requireHostHeader: false,
};

/** Longer than any operation takes. A client that does not read its response is disconnected then. */
const longestInactivityMs = 15 * 60_000;

/** Handlers check their requests. The compilers that Fastify would use take longer to load than the rest of it. */
const noCompilers = { buildValidator: refuseSchema, buildSerializer: refuseSchema };

function refuseSchema(): never {
  throw new TypeError("a route must have no schema");
}

export interface HttpServerOptions {
  /** Null: without encryption. */
  readonly tls: TlsSettings | null;
  /** How many connections may be open. */
  readonly connections: number;
  readonly onRefused: (refusal: Refusal) => void;
  /** A connection was refused: all allowed ones have a request in progress. */
  readonly onFull: () => void;
  /** Default: 30 s, for a request with its body. */
  readonly requestTimeoutMs?: number | undefined;
  /** Of a connection with a request on which nothing is sent or received. Default: 15 min. */
  readonly inactivityTimeoutMs?: number | undefined;
  /** Of all responses that clients have not read. Default: 64 MiB. */
  readonly mostWaitingBytes?: number | undefined;
}

/**
 * A server without routes, with limits on what a client can cost.
 *
 * @throws when a file of its TLS cannot be used
 */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { tls, connections, onRefused, onFull } = options;
  const { requestTimeoutMs: requestTimeout = bounds.requestTimeout } = options;
  const headers = headersOf(tls);
  const limits: ServerOptions = { ...bounds, requestTimeout, headersTimeout: requestTimeout };
  const onPipelined = ({ remoteAddress: address }: Socket): void =>
    onRefused({ reason: "pipelining", address });
  const server = fastify({
    forceCloseConnections: true,
    serverFactory: (handler): Server => {
      const handle = oneAtATime(handler, onPipelined);
      return tls === null
        ? createServer(limits, handle)
        : createSecureServer({ ...limits, ...readTls(tls), handshakeTimeout: 10_000 }, handle);
    },
    schemaController: { compilersFactory: noCompilers },
    bodyLimit,
    // A URL that cannot be decoded belongs to no route.
    frameworkErrors: (error, request, reply) => {
      const status = clientStatus(error) ?? 400;
      const detail =
        status === 414 ? "A part of this path is too long." : "This URL cannot be decoded.";
      onRefused({ reason: "unreadable", address: request.socket.remoteAddress });
      void sendProblem(reply.headers(headers), { status, detail });
    },
    clientErrorHandler(error, socket) {
      // Browsers open connections that they then do not use.
      const isUnused = "bytesRead" in socket && socket.bytesRead === 0;
      if (error.code !== "ECONNRESET" && !isUnused) {
        onRefused({ reason: "unreadable", address: socket.remoteAddress });
      }
      if (socket.writable) socket.write(rawProblem(unreadable(error.code), headers));
      socket.destroy();
    },
  });
  server.addHook("onRequest", async (_, reply) => void reply.headers(headers));
  server.server.setTimeout(options.inactivityTimeoutMs ?? longestInactivityMs);
  server.server.on("checkExpectation", ({ socket }: IncomingMessage) => {
    onRefused({ reason: "unreadable", address: socket.remoteAddress });
    const detail = "The only expectation that can be met is 100-continue.";
    socket.end(rawProblem({ status: 417, detail }, headers));
  });
  server.server.on("connect", ({ socket }: IncomingMessage) => {
    onRefused({ reason: "unreadable", address: socket.remoteAddress });
    socket.destroy();
  });
  limitConnections(server.server, connections, (address) => {
    onRefused({ reason: "connections", address });
    onFull();
  });
  limitWaitingBytes(server, options.mostWaitingBytes, (address) =>
    onRefused({ reason: "slow_reader", address }),
  );
  return server;
}

/** Of every response. Browsers that were once served with encryption refuse to be served without, for a year. */
function headersOf(tls: TlsSettings | null): Readonly<Record<string, string>> {
  const hsts = { "strict-transport-security": "max-age=31536000" };
  return { ...strictHeaders, ...(tls && hsts) };
}

/** What is wrong with a request that Node.js could not read, by the code of its error. */
function unreadable(code: string | undefined): Problem {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return { status: 408, detail: "The request did not arrive in time." };
  }
  if (code === "HPE_HEADER_OVERFLOW") {
    return { status: 431, detail: `Headers have at most ${bounds.maxHeaderSize} bytes.` };
  }
  return { status: 400, detail: "This is not a valid HTTP request." };
}

const usualBytes = 64 * 2 ** 20;

/**
 * Limits the bytes of all responses that are in memory as a whole until their clients have read them. Beyond the limit,
 * the response that has waited for longest is cut off. Streams are read as their clients read.
 */
function limitWaitingBytes(
  server: FastifyInstance,
  mostBytes = usualBytes,
  onCutOff: (address: string | undefined) => void,
): void {
  /** The longest waiting first. */
  const waiting = new Map<FastifyReply["raw"], number>();
  let sum = 0;
  const forget = (response: FastifyReply["raw"]): void => {
    sum -= waiting.get(response) ?? 0;
    waiting.delete(response);
  };
  server.addHook("onSend", (_, { raw: response }, payload, done) => {
    // Nothing waits for a client that has left, and its response is closed already, so that it would never be forgotten.
    const isOpen = !response.destroyed;
    if (isOpen && (typeof payload === "string" || Buffer.isBuffer(payload))) {
      const bytes = Buffer.byteLength(payload);
      waiting.set(response, bytes);
      sum += bytes;
      response.once("close", () => forget(response));
      for (const [longest] of waiting) {
        if (sum <= mostBytes || longest === response) break;
        onCutOff(longest.socket?.remoteAddress);
        forget(longest);
        longest.destroy();
      }
    }
    done(null, payload);
  });
}
