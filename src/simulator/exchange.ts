import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { targetName } from "../fleet/model.ts";
import { delay, type Clock } from "../lib/clock.ts";
import type { RateLimit } from "../lib/rate-limit.ts";
import { problem, type Answer } from "./answers.ts";
import { faultsOf, type FullFault } from "./faults.ts";

/**
 * A client that keeps the limit to the millisecond is not refused because the network delivered two
 * of its requests a little closer together than they were sent.
 */
const tolerance = 0.05;

/** Checks the credential, then the rate limit of the key in the region. */
export function createGate(
  clock: Clock,
  keys: readonly { readonly name: string; readonly apiKey: string }[],
  rateLimit: RateLimit | null,
): (region: string, authorization: string | undefined) => { key: string } | { refused: Answer } {
  const names = new Map(keys.map(({ name, apiKey }) => [apiKey, name]));
  const buckets = new Map<string, { tokens: number; atMs: number }>();

  /** Takes a token, or says how many milliseconds there will be none. */
  const take = (bucketName: string, { requests, perMs }: RateLimit): number => {
    const nowMs = clock.now().monotonicMs;
    const bucket = buckets.get(bucketName) ?? { tokens: requests, atMs: nowMs };
    buckets.set(bucketName, bucket);
    const gained = ((nowMs - bucket.atMs) * requests) / perMs;
    bucket.tokens = Math.min(requests, bucket.tokens + gained);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1 - tolerance) return ((1 - bucket.tokens) * perMs) / requests;
    bucket.tokens -= 1;
    return 0;
  };

  return (region, authorization) => {
    const apiKey = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (apiKey === undefined) {
      return { refused: problem(401, "Not authenticated", { "www-authenticate": "Bearer" }) };
    }
    const key = names.get(apiKey);
    if (key === undefined) return { refused: problem(403, "Invalid API key") };
    const waitMs = rateLimit ? take(targetName({ region, key }), rateLimit) : 0;
    if (waitMs === 0) return { key };
    const retryAfter = String(Math.max(1, Math.ceil(waitMs / 1000)));
    return { refused: problem(429, "Rate limit exceeded", { "retry-after": retryAfter }) };
  };
}

/** One request under way. */
export interface Exchange {
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** Aborts when the client is gone or the simulator closes. */
  readonly gone: AbortSignal;
}

export function beginExchange(response: ServerResponse, clock: Clock): Exchange {
  const left = new AbortController();
  response.on("close", () => left.abort());
  return { response, clock, gone: left.signal };
}

/** What faults do to a request before anything is sent. False: it gets no answer. */
export async function passFaults(
  { gone, clock }: Exchange,
  request: IncomingMessage,
  faults: readonly FullFault[],
): Promise<boolean> {
  const breaksBefore = (kind: "hang" | "reset"): boolean =>
    faultsOf(faults, kind).some(({ when }) => when === "before");
  for (const { ms } of faultsOf(faults, "latency")) await delay(clock, ms, gone);
  if (breaksBefore("hang")) await aborted(gone);
  if (gone.aborted) return false;
  if (!breaksBefore("reset")) return true;
  request.socket.resetAndDestroy();
  return false;
}

export async function send(
  exchange: Exchange,
  answer: Answer,
  faults: readonly FullFault[] = [],
): Promise<void> {
  const { response, gone } = exchange;
  response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
  for await (const chunk of spoil(encoded(answer.body), faults, exchange)) {
    if (gone.aborted) return;
    if (!response.write(chunk)) await once(response, "drain", { signal: gone }).catch(() => {});
    // A reader as fast as the writer would otherwise keep the loop from everything else.
    await nextTurn();
  }
  if (!gone.aborted) response.end();
}

type Body = Iterable<Buffer> | AsyncIterable<Buffer>;

function* encoded(body: Iterable<string>): Generator<Buffer> {
  for (const text of body) yield Buffer.from(text);
}

/** The body as the faults let it through. */
function spoil(body: Body, faults: readonly FullFault[], exchange: Exchange): Body {
  let spoilt = body;
  for (const fault of faults) {
    if (fault.kind === "truncate") spoilt = truncated(spoilt, fault.after_bytes);
    if (fault.kind === "slow") spoilt = slowed(spoilt, fault.bytes_per_second, exchange);
    if (fault.kind !== "reset" && fault.kind !== "hang") continue;
    if (fault.when === "body") spoilt = broken(spoilt, fault, exchange);
  }
  return spoilt;
}

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Holds the newest chunk back, so that it never lets the last byte through. */
async function* truncated(body: Body, afterBytes: number): AsyncGenerator<Buffer> {
  let left = afterBytes;
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    if (held.length >= left) break;
    left -= held.length;
    if (held.length > 0) yield held;
    held = chunk;
  }
  yield held.subarray(0, Math.min(left, held.length - 1));
}

/** Lets N bytes through, or the whole of a shorter body, then breaks before the end. */
async function* broken(
  body: Body,
  { kind, after_bytes: afterBytes }: { readonly kind: string; readonly after_bytes: number },
  { response, gone }: Exchange,
): AsyncGenerator<Buffer> {
  let left = afterBytes;
  for await (const chunk of body) {
    if (left > 0) yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) break;
  }
  if (kind === "reset") response.destroy();
  else await aborted(gone);
}

const slowStepMs = 100;

async function* slowed(
  body: Body,
  bytesPerSecond: number,
  { clock, gone }: Exchange,
): AsyncGenerator<Buffer> {
  const bytesPerStep = Math.max(1, Math.round((bytesPerSecond * slowStepMs) / 1000));
  const stepMs = (bytesPerStep / bytesPerSecond) * 1000;
  for await (const chunk of body) {
    for (let offset = 0; offset < chunk.length; offset += bytesPerStep) {
      yield chunk.subarray(offset, offset + bytesPerStep);
      await delay(clock, stepMs, gone);
      if (gone.aborted) return;
    }
  }
}
