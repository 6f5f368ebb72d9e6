import type { FastifyReply, FastifyRequest } from "fastify";
import { Agent } from "undici";
import type { AccessSettings } from "../lib/access.ts";
import { isInNetworks } from "../lib/networks.ts";
import type { Secret } from "../lib/secret.ts";
import { bodyLimit, sendProblem, tooLarge } from "./api/problem.ts";
import { addReload, createBaseServer, type ReloadAnswer } from "./server.ts";
import type { ServerDeps, WebServer } from "./server.ts";

/** The process that is active, as far as this one knows. */
export interface ActivePeer {
  /** Null: nothing can be passed on. */
  readonly address: string | null;
  /** Who is active, or was, in a sentence. */
  readonly text: string;
  readonly retryAfterMs: number;
}

export interface StandbyDeps extends ServerDeps {
  readonly active: () => ActivePeer;
  /** Of this process, which has a configuration file of its own. */
  readonly requestReload: () => ReloadAnswer;
  /** That of `http.auth.proxy`, which users are named by. */
  readonly proxy: AccessSettings["proxy"];
  /** Certificates of authorities in PEM. Null: those that Node.js trusts. */
  readonly ca: string | null;
  /** The own certificate and key in PEM. Undefined: the active process asks for none. */
  readonly clientCertificate: () => Secret | undefined;
}

const connectTimeoutMs = 5_000;

/** Concern a connection, not what is sent over it (RFC 9110, section 7.6.1). */
const ofConnection: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
]);

/** By which a request is known that was passed on once, so that it does not go round in a circle. */
const passedOn = "1.1 sandwatch-standby";

/**
 * The HTTP server of a process that stands by. What it does not answer itself it passes on to the active process, as it is
 * and with nothing but the credentials that it has.
 */
export function createStandbyServer(deps: StandbyDeps): WebServer {
  const { active, proxy, onError } = deps;
  const certificate = deps.clientCertificate()?.reveal();
  const dispatcher = new Agent({
    connect: {
      timeout: connectTimeoutMs,
      ...(deps.ca !== null && { ca: deps.ca }),
      ...(certificate !== undefined && { cert: certificate, key: certificate }),
    },
    // A request may poll many targets, and a stream of events does not end.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  const requestHeaders = ({ raw, socket, sender }: FastifyRequest) => {
    // Each value of a header that was sent twice: the active process decides what it means.
    const passed = withoutConnection(raw.headersDistinct);
    // Otherwise anyone could name a user to a process that trusts this one.
    const isNamed = proxy !== null && isInNetworks(socket.remoteAddress ?? "", proxy.trusted);
    if (proxy && !isNamed) delete passed[proxy.header];
    // The active process believes it only if it trusts this one as a proxy.
    passed["x-forwarded-for"] = [sender];
    passed["via"] = [...(passed["via"] ?? []), passedOn];
    return Object.entries(passed).flatMap(([name, values = []]) =>
      values.flatMap((value) => [name, value]),
    );
  };

  const passOn = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { address, text, retryAfterMs } = active();
    const refuse = (why: string): FastifyReply =>
      sendProblem(reply, { status: 503, detail: `${why} ${text}`, retryAfterMs });
    if (address === null) return refuse("This process stands by.");
    if (request.headers.via?.includes(passedOn)) {
      return refuse("This process stands by, and another one took it for the active one.");
    }
    // The active process would refuse it while it is still being sent, and its answer would be lost.
    if (Number(request.headers["content-length"]) > bodyLimit) {
      return sendProblem(reply, tooLarge);
    }
    const ended = new AbortController();
    reply.raw.once("close", () => ended.abort());
    const { origin, pathname } = new URL(address);
    const hasBody = request.method !== "GET" && request.method !== "HEAD";
    try {
      const answer = await dispatcher.request({
        origin,
        path: pathname.replace(/\/$/, "") + request.url,
        method: request.method,
        headers: requestHeaders(request),
        body: hasBody ? request.raw : null,
        signal: ended.signal,
      });
      void reply.code(answer.statusCode).headers(withoutConnection(answer.headers));
      return await reply.send(answer.body);
    } catch {
      return refuse("The active process does not answer.");
    }
  };

  const web = createBaseServer(deps, (server) => {
    server.removeAllContentTypeParsers();
    // A body is passed on as it arrives.
    server.addContentTypeParser("*", (_request, _body, done) => done(null));
    addReload(server, deps.requestReload);
    server.all("/*", passOn);
  });
  return {
    listen: (at) => web.listen(at),
    async close() {
      await dispatcher.destroy();
      await web.close().catch((error: Error) => onError(error));
    },
  };
}

function withoutConnection<Value>(headers: NodeJS.Dict<Value>): NodeJS.Dict<Value> {
  const named = String(headers["connection"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase());
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !ofConnection.has(name) && !named.includes(name)),
  );
}
