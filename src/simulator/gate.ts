import { targetName } from "../fleet/model.ts";
import type { RateLimit } from "../lib/rate-limit.ts";
import type { Clock } from "../lib/clock.ts";
import { problem, type Answer } from "./answers.ts";

export type Admission =
  | { readonly kind: "admitted"; readonly key: string }
  | { readonly kind: "refused"; readonly answer: Answer };

export interface Gate {
  admit(region: string, authorization: string | undefined): Admission;
}

export interface GateOptions {
  readonly clock: Clock;
  readonly keys: readonly { readonly name: string; readonly apiKey: string }[];
  readonly rateLimit: RateLimit | null;
}

/**
 * A client that keeps the limit to the millisecond is not refused because the network delivered two
 * of its requests a little closer together than they were sent.
 */
const tolerance = 0.05;

/** Checks the credential, then the rate limit of the key in the region. */
export function createGate({ clock, keys, rateLimit }: GateOptions): Gate {
  const names = new Map(keys.map(({ name, apiKey }) => [apiKey, name]));
  const buckets = new Map<string, { tokens: number; atMs: number }>();

  /** Takes a token, or says how many milliseconds there will be none. */
  const take = (bucketName: string, limit: RateLimit): number => {
    const nowMs = clock.now().monotonicMs;
    const bucket = buckets.get(bucketName) ?? { tokens: limit.requests, atMs: nowMs };
    buckets.set(bucketName, bucket);
    const gained = ((nowMs - bucket.atMs) * limit.requests) / limit.perMs;
    bucket.tokens = Math.min(limit.requests, bucket.tokens + gained);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1 - tolerance) {
      return ((1 - bucket.tokens) * limit.perMs) / limit.requests;
    }
    bucket.tokens -= 1;
    return 0;
  };

  return {
    admit(region, authorization) {
      const apiKey = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
      if (apiKey === undefined) {
        return refused(problem(401, "Not authenticated", { "www-authenticate": "Bearer" }));
      }
      const key = names.get(apiKey);
      if (key === undefined) return refused(problem(403, "Invalid API key"));
      const waitMs = rateLimit ? take(targetName({ region, key }), rateLimit) : 0;
      if (waitMs === 0) return { kind: "admitted", key };
      const retryAfter = String(Math.max(1, Math.ceil(waitMs / 1000)));
      return refused(problem(429, "Rate limit exceeded", { "retry-after": retryAfter }));
    },
  };
}

function refused(answer: Answer): Admission {
  return { kind: "refused", answer };
}
