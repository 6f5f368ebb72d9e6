import * as http from "node:http";
import * as https from "node:https";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { Config } from "../../config/config.ts";
import { emptySnapshot } from "../../fleet/snapshot.ts";
import { counted } from "../../fleet/text.ts";
import { systemClock } from "../../lib/clock.ts";
import { createConnector, type Route } from "../../lib/connector.ts";
import { destinationOf } from "../../lib/proxy.ts";
import { createRetryBudget, retryShare } from "../../lib/retry.ts";
import { userAgent } from "../../lib/version.ts";
import { callWithRetries } from "../../polling/call-with-retries.ts";
import { KeyLimits } from "../../polling/key-limits.ts";
import { createServiceClient } from "../../service/client.ts";
import { connectionFailure, type CallFailure } from "../../service/failure.ts";
import { adviceFor } from "../failure-advice.ts";
import { mapSome, type Finding } from "./finding.ts";

const visitTimeoutMs = 10_000;
const callsAtOnce = 10;
const dayMs = 24 * 60 * 60 * 1_000;
const certificateWarningMs = 14 * dayMs;

/** How a service answers at an address, without an API key. */
export interface Visit {
  /** Null: it is reached through a proxy. */
  readonly dnsMs: number | null;
  /** Through a proxy with TLS. */
  readonly connectMs: number;
  /** Null: it is not encrypted, or reached through a proxy. */
  readonly tlsMs: number | null;
  readonly answerMs: number;
  readonly certificateEndsMs: number | null;
  /** How far this machine's clock is ahead of the service's; null: the service does not say. */
  readonly aheadMs: number | null;
}

export type Visited =
  | { readonly kind: "visited"; readonly visit: Visit }
  | { readonly kind: "failed"; readonly failure: CallFailure };

/** Sends one HEAD request without an API key, on a connection of its own. */
export async function visit(
  { baseUrl, route }: { readonly baseUrl: string; readonly route: Route },
  signal: AbortSignal,
): Promise<Visited> {
  const url = new URL(baseUrl);
  const connector = createConnector({ ...route, timeoutMs: visitTimeoutMs * 0.75 });
  const destination = destinationOf(url);
  const isProxied = connector.isProxied(destination);
  const send = url.protocol === "https:" ? https.request : http.request;
  const begin = performance.now();
  const times = { lookup: begin, connect: begin, secureConnect: begin };
  const ending = AbortSignal.any([signal, AbortSignal.timeout(visitTimeoutMs)]);
  ending.addEventListener("abort", () => connector.close());
  return new Promise((resolve) => {
    const request = send(url, {
      method: "HEAD",
      signal: ending,
      headers: { "user-agent": userAgent },
      ...(connector.secureContext && { secureContext: connector.secureContext }),
      ...(isProxied
        ? {
            createConnection: (_: unknown, done: (error: null, socket: Duplex) => void) => {
              connector.connect(destination, (error, socket) => {
                if (error) request.emit("error", error);
                else done(null, socket);
              });
              return null;
            },
          }
        : { agent: false }),
    });
    request.on("socket", (socket) => {
      if (isProxied) times.connect = times.secureConnect = performance.now();
      for (const name of ["lookup", "connect", "secureConnect"] as const) {
        socket.once(name, () => (times[name] = performance.now()));
      }
    });
    request.on("response", (response) => {
      const end = performance.now();
      const { socket } = response;
      const isTls = socket instanceof TLSSocket;
      const dateMs = Date.parse(response.headers.date ?? "");
      const validTo = isTls ? Date.parse(socket.getPeerCertificate().valid_to) : Number.NaN;
      const connected = isTls ? times.secureConnect : times.connect;
      // The service names whole seconds, and says it in the middle of the exchange.
      const saidMs = systemClock.now().utcMs - (end - connected) / 2;
      response.destroy();
      resolve({
        kind: "visited",
        visit: {
          dnsMs: isProxied ? null : times.lookup - begin,
          connectMs: times.connect - times.lookup,
          tlsMs: isTls && !isProxied ? times.secureConnect - times.connect : null,
          answerMs: end - connected,
          certificateEndsMs: Number.isNaN(validTo) ? null : validTo,
          aheadMs: Number.isNaN(dateMs) ? null : saidMs - (dateMs + 500),
        },
      });
    });
    request.on("error", (error) => {
      const late = Object.assign(new Error("late"), { code: "ETIMEDOUT" });
      const failure = connectionFailure(ending.aborted ? late : error, null);
      resolve({ kind: "failed", failure });
    });
    request.end();
  });
}

export function describeVisit(visited: Visited, nowMs: number): readonly Finding[] {
  if (visited.kind === "failed") {
    const { failure } = visited;
    const advice = adviceFor({ ...failure, problem: failure.problem ?? null });
    return [{ level: "failure", text: failure.detail, mend: advice }];
  }
  const { dnsMs, connectMs, tlsMs, answerMs, certificateEndsMs } = visited.visit;
  const parts = [
    ...(dnsMs === null
      ? [`connection through the proxy ${ms(connectMs)}`]
      : [`DNS ${ms(dnsMs)}`, `connection ${ms(connectMs)}`]),
    ...(tlsMs === null ? [] : [`TLS ${ms(tlsMs)}`]),
    `answer ${ms(answerMs)}`,
  ];
  const found: Finding[] = [{ level: "ok", text: `it answers: ${parts.join(", ")}` }];
  const leftMs = (certificateEndsMs ?? Infinity) - nowMs;
  if (leftMs < certificateWarningMs) {
    const text = `its certificate expires in ${Math.floor(leftMs / dayMs)} days`;
    found.push({ level: "warning", text, mend: "Inform the operator of the service." });
  }
  return found;
}

function ms(value: number): string {
  return `${Math.max(0, Math.round(value))} ms`;
}

/** The greatest of the deviations from the services' clocks, as one of them may be wrong. */
export function checkClock(visits: ReadonlyMap<string, Visited>): readonly Finding[] {
  const known = [...visits].flatMap(([region, visited]) =>
    visited.kind === "visited" && visited.visit.aheadMs !== null
      ? [{ region, aheadMs: visited.visit.aheadMs }]
      : [],
  );
  const [furthest] = known.toSorted((a, b) => Math.abs(b.aheadMs) - Math.abs(a.aheadMs));
  if (!furthest) {
    return [
      { level: "note", text: "no service said what time it is, so the clock is not checked" },
    ];
  }
  return [compareClocks(furthest.aheadMs, furthest.region, "those of the services")];
}

/** @param those whose clocks they are if they agree */
export function compareClocks(aheadMs: number, of: string, those = `that of ${of}`): Finding {
  const seconds = Math.abs(aheadMs) / 1_000;
  if (seconds <= 5) return { level: "ok", text: `it agrees with ${those} within 5 s` };
  const text = `it is ${seconds.toFixed(0)} s ${aheadMs > 0 ? "ahead of" : "behind"} that of ${of}`;
  const mend = "Repair time synchronization, here or there: timedatectl.";
  return { level: seconds > 60 ? "failure" : "warning", text, mend };
}

/** Lists the sandboxes with each key once, within its rate limit. A daemon's calls are not counted. */
export async function checkKeys(
  { regions, keys, poll }: Config,
  isReachable: (region: string) => boolean,
  until: { readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<ReadonlyMap<string, readonly Finding[]>> {
  const { timeoutMs, maxBodyBytes, rateLimit } = poll;
  const clock = systemClock;
  const service = createServiceClient({ regions, timeoutMs, maxBodyBytes, userAgent, clock });
  const budget = createRetryBudget(retryShare);
  const deps = { limits: new KeyLimits(clock, rateLimit), clock, random: Math.random, budget };
  const targets = keys.flatMap((key) =>
    key.regions.filter(isReachable).map((region) => ({ region, key })),
  );
  try {
    const found = await mapSome(targets, callsAtOnce, async ({ region, key }) => {
      const call = { region, apiKey: key.apiKey, before: emptySnapshot, poll: 0 };
      const target = { region, key: key.name };
      const outcome = await callWithRetries(deps, target, until, (attempt) =>
        service.listSandboxes({ ...call, ...attempt }),
      );
      return { region, finding: describeCall(key.name, outcome) };
    });
    return new Map(
      Map.groupBy(found, ({ region }) => region)
        .entries()
        .map(([region, all]) => [region, all.map(({ finding }) => finding)]),
    );
  } finally {
    await service.close();
  }
}

type Called = Awaited<ReturnType<ReturnType<typeof createServiceClient>["listSandboxes"]>>;

function describeCall(
  key: string,
  outcome: Called | { readonly kind: "not_sent" | "stopped" },
): Finding {
  switch (outcome.kind) {
    case "ok": {
      const { listing, partial } = outcome.value;
      const text = `key ${key} is accepted: ${counted(listing.sandboxes.length, "sandbox", "sandboxes")}`;
      if (partial === null) return { level: "ok", text };
      return { level: "warning", text: `${text}, but the listing is partial: ${partial}` };
    }
    case "failed": {
      const problem = outcome.problem ?? null;
      const mend = adviceFor({ ...outcome, problem });
      return { level: "failure", text: `key ${key}: ${outcome.detail}`, mend };
    }
    default:
      return {
        level: "warning",
        text: `key ${key} is not checked: there was no time for it, or its rate limit allowed no request`,
      };
  }
}
