import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { leavesUnencrypted } from "../config/address.ts";
import { BusyError, RefusedError, type RefusalKind } from "../lib/refused-error.ts";
import type { Secret } from "../lib/secret.ts";
import { operationsRoot, pathFields, readRequest } from "./operation.ts";
import type { CallApi, Operation } from "./operation.ts";

/** `other_program`: something answered as no sandwatch of this version does. */
type UnavailableKind = "nothing_listens" | "other_program" | "unknown";

/** No sandwatch of this version answered. */
export class ApiUnavailableError extends Error {
  override readonly name = "ApiUnavailableError";
  readonly kind: UnavailableKind;

  constructor(message: string, kind: UnavailableKind = "unknown") {
    super(message);
    this.kind = kind;
  }
}

const usualTimeoutMs = 30_000;
const heavyTimeoutMs = 5 * 60_000;

export interface ApiClientOptions {
  /** Ends calls that are in progress. */
  readonly signal?: AbortSignal | undefined;
  /** Of `http.auth.tokens`. */
  readonly token?: Secret | undefined;
  /** A file with the certificate of the daemon, which is trusted as it is. */
  readonly certificateFile?: string | undefined;
  /** The certificate of this client and its key, in PEM. */
  readonly clientCertificate?: Secret | undefined;
  /** Certificates of authorities in PEM. Null, like default: those that Node.js trusts. */
  readonly ca?: string | null;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: as long as the operation takes. */
  readonly connectTimeoutMs?: number;
}

/**
 * Calls the operations of a running daemon over HTTP. A call rejects with a `RefusedError` or an
 * `ApiUnavailableError`.
 *
 * @param address such as `http://127.0.0.1:9740`
 */
export function createApiClient(address: string, options: ApiClientOptions = {}): CallApi {
  return async (operation, request) => {
    // Checked here because a URL would change text that is not well-formed.
    readRequest(operation.request, request);
    const response = await send(address, operation, Object(request), options);
    const content: unknown = await response.json().catch(() => null);
    const read = response.ok ? operation.response.safeParse(content) : null;
    if (read?.success) return read.data;
    const problem = response.ok ? null : problemSchema.safeParse(content);
    if (!problem?.success) {
      throw foreignServer(address);
    }
    const { detail, errors } = problem.data;
    const retryAfter = Number(response.headers.get("retry-after") ?? 0);
    if (response.status === 429 && retryAfter > 0) throw new BusyError(detail, retryAfter * 1_000);
    const kind = kinds.get(response.status);
    if (kind) throw new RefusedError(kind, detail, errors);
    throw new ApiUnavailableError(`${address}: ${detail}`);
  };
}

function foreignServer(address: string): ApiUnavailableError {
  const message = `The server at ${address} is not a sandwatch of this version.`;
  return new ApiUnavailableError(message, "other_program");
}

const problemSchema = z.object({
  detail: z.string(),
  errors: z.array(z.object({ path: z.string(), allowed: z.string() })).optional(),
});

interface Sent {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/**
 * Sends a request directly: `fetch` goes through a proxy where Node.js takes one from the environment. A server that must
 * have a certificate of a file is called by any name.
 */
function sendDirectly(
  { certificateFile, clientCertificate, ca = null, connectTimeoutMs }: ApiClientOptions,
  url: URL,
  { body, ...sent }: Sent,
): Promise<Response> {
  const own = clientCertificate?.reveal();
  const options = {
    ...sent,
    agent: false,
    ...(certificateFile !== undefined && {
      ca: readFileSync(certificateFile),
      allowPartialTrustChain: true,
      checkServerIdentity: () => undefined,
    }),
    ...(ca !== null && { ca, allowPartialTrustChain: true }),
    ...(own !== undefined && { cert: own, key: own }),
  };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? https : http).request(url, options);
    request.on("response", (response) => {
      const { statusCode: status = 0 } = response;
      const headers = { "retry-after": response.headers["retry-after"] ?? "0" };
      text(response).then((content) => resolve(new Response(content, { status, headers })), reject);
    });
    if (connectTimeoutMs !== undefined) destroyUnconnected(request, url, connectTimeoutMs);
    request.on("error", reject);
    request.end(body);
  });
}

function destroyUnconnected(request: http.ClientRequest, { protocol }: URL, afterMs: number): void {
  const timer = setTimeout(() => request.destroy(new Error("no connection")), afterMs);
  const event = protocol === "https:" ? "secureConnect" : "connect";
  request.on("socket", (socket) => socket.on(event, () => clearTimeout(timer)));
  request.on("close", () => clearTimeout(timer));
}

/**
 * Asks a running daemon to read its configuration again.
 *
 * @returns what it says, and whether it accepts the configuration
 */
export async function requestReload(
  address: string,
  options: ApiClientOptions,
): Promise<{ readonly isAccepted: boolean; readonly text: string }> {
  const url = new URL("-/reload", address.endsWith("/") ? address : `${address}/`);
  const response = await sendRequest(address, url, { method: "POST", headers: {} }, options);
  const said = (await response.text()).trimEnd();
  if (response.status === 404 || response.status === 405) {
    throw foreignServer(address);
  }
  if (response.ok || response.status === 400) return { isAccepted: response.ok, text: said };
  throw new ApiUnavailableError(`${address}: ${said}`);
}

const kinds: ReadonlyMap<number, RefusalKind> = new Map([
  [400, "invalid"],
  [404, "not_found"],
  [409, "conflict"],
  [429, "busy"],
]);

async function send(
  address: string,
  operation: Operation,
  request: Readonly<Record<string, unknown>>,
  options: ApiClientOptions,
): Promise<Response> {
  const { method, path, isHeavy } = operation;
  const { timeoutMs = isHeavy ? heavyTimeoutMs : usualTimeoutMs } = operation;
  const inPath = pathFields(path);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(request[name])),
  );
  const base = address.endsWith("/") ? address : `${address}/`;
  const url = new URL(operationsRoot.slice(1) + filled, base);
  const sent = Object.entries(request).filter(([name]) => !inPath.includes(name));
  if (method === "GET") {
    for (const [name, value] of sent) {
      for (const each of Array.isArray(value) ? value : [value]) {
        if (each !== undefined) url.searchParams.append(name, String(each));
      }
    }
  }
  const body = method === "POST" && { body: JSON.stringify(Object.fromEntries(sent)) };
  const headers = { ...(body && { "content-type": "application/json" }) };
  return sendRequest(address, url, { method, headers, timeoutMs, ...body }, options);
}

interface Request {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs?: number;
}

/** Sends a request with the headers and the token of the options. */
async function sendRequest(
  address: string,
  url: URL,
  { headers, timeoutMs = usualTimeoutMs, ...request }: Request,
  options: ApiClientOptions,
): Promise<Response> {
  const { signal, token } = options;
  if (token && leavesUnencrypted(url)) {
    throw new ApiUnavailableError(
      `The token is not sent to ${address}, because it would not be encrypted. Use https, or an address of this machine.`,
    );
  }
  const credentials = token && { authorization: `Bearer ${token.reveal()}` };
  const sent = {
    ...request,
    headers: { ...options.headers, ...credentials, ...headers },
    signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
  };
  try {
    return await sendDirectly(options, url, sent);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ECONNREFUSED") {
      throw new ApiUnavailableError(`Nothing listens at ${address}.`, "nothing_listens");
    }
    // It does not speak HTTP.
    if (code.startsWith("HPE_")) throw foreignServer(address);
    const isReset = code === "ECONNRESET" && url.protocol === "http:";
    const hint = isReset ? " If it has http.tls, its address begins with https." : "";
    throw new ApiUnavailableError(`${address} ${whyNoResponse(code)}${hint}`);
  }
}

/** @param code of the error of the connection */
function whyNoResponse(code: string): string {
  if (/SELF_SIGNED|UNABLE_TO_|CERT_UNTRUSTED/.test(code)) {
    return `has a certificate that this machine does not trust (${code}). Name the file with its authority in the environment variable NODE_EXTRA_CA_CERTS, or give --config.`;
  }
  if (/ALTNAME|CERT_/.test(code)) {
    return `has a certificate of another name, or one that has expired (${code}).`;
  }
  if (/SSL|EPROTO/.test(code)) return `cannot be reached over TLS (${code}).`;
  return "did not respond. Is sandwatch running there?";
}
