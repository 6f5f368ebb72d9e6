import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { plainAddress } from "../lib/networks.ts";
import type { Problem } from "./api/problem.ts";

/** What to change where a setting is the cause. */
const advice = {
  no_credentials:
    "send a token or a user and password of http.auth; http.auth.anonymous has the role of requests without",
  wrong_credentials: "compare the token, or the user and password, with http.auth",
  too_many_guesses:
    "find out who sends wrong credentials; where a proxy sends them, name it in http.trusted_proxies",
  signature:
    "compare webhook_secret of the receiver, and its name in the address of the webhook, with the subscription",
  role: "the role of the token or user in http.auth does not allow it",
  host: "if people use this name, add it to http.allowed_hosts, or set http.external_url",
  origin:
    "if people use a proxy, it must pass on the Host of the browser, or http.external_url must be the address that they open",
  unreadable: "the request is no HTTP, exceeds a limit, or did not arrive in time",
  pipelining: "the client must wait for a response before its next requests",
  connections: "find out who has these connections",
  slow_reader: "the client must read its responses faster",
  busy: "the client must send fewer requests at once",
} as const;

/** Why a request or a connection was refused, as a label of a metric. */
export type RefusalReason = keyof typeof advice;

export const refusalReasons: readonly string[] = Object.keys(advice);

/** The answer to a request that is refused. */
export interface RefusedProblem extends Problem {
  readonly reason: RefusalReason;
}

export interface Refusal {
  readonly reason: RefusalReason;
  /** Who sent it, as sockets write it. Undefined: the connection is closed already. */
  readonly address: string | undefined;
}

interface RefusalDeps {
  readonly log: Pick<Logger, "info" | "warn">;
  readonly clock: Clock;
  readonly count: (reason: RefusalReason) => void;
}

const quietMs = 60_000;
/** Of a reason and an address. What is more than these is counted only. */
const mostLogged = 1_000;

/** Counts each refusal, and logs one per reason and address in a minute. */
export function reportRefusals({ log, clock, count }: RefusalDeps) {
  const loggedAtMs = new Map<string, number>();
  return ({ reason, address = "" }: Refusal): void => {
    count(reason);
    const nowMs = clock.now().monotonicMs;
    // In the order in which they were logged.
    for (const [logged, atMs] of loggedAtMs) {
      if (nowMs - atMs < quietMs) break;
      loggedAtMs.delete(logged);
    }
    const sender = plainAddress(address);
    const name = `${reason} ${sender}`;
    if (loggedAtMs.has(name) || loggedAtMs.size >= mostLogged) return;
    loggedAtMs.set(name, nowMs);
    // Browsers send none before they have asked for them.
    const level = reason === "no_credentials" ? "info" : "warn";
    log[level](
      { event: "http.refused", reason, address: sender },
      `a request from ${sender} was refused (${reason}): ${advice[reason]}`,
    );
  };
}
