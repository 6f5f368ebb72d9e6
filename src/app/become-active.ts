import { readFileSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { delay, type Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { Secret } from "../lib/secret.ts";
import { revision, version } from "../lib/version.ts";
import { createWaitingMetrics } from "../metrics/metrics.ts";
import { openCandidate, usualLeaseMs, type Candidate } from "../store/postgres/candidate.ts";
import type { Process } from "../store/postgres/processes.ts";
import { StoreError, StoreUnavailableError } from "../store/store-error.ts";
import type { PostgresSettings } from "../store/store-settings.ts";
import type { LastReload, ReloadAnswer } from "../web/server.ts";
import { webSettings } from "./daemon-web.ts";
import { createStandbyServer, type ActivePeer } from "../web/standby-server.ts";

/** How often it tries to take the lock, and how soon a failed connection is repeated. */
const tryEveryMs = 250;
const connectAgainMs = 1_000;

export interface StandbyDeps {
  readonly config: Config;
  readonly postgres: PostgresSettings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly reloads: { readonly last: () => LastReload; readonly request: () => ReloadAnswer };
  readonly takeOvers: number;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  readonly onServing: () => void;
  /** Whether an error of the store that is not temporary ends it, too. */
  readonly isFirst: boolean;
  /** The process that became active is not active any more. */
  readonly onLost: () => void;
}

/** What is known of the processes on the store while this one is not active. */
interface Seen {
  /** Why PostgreSQL cannot be used. Null: it can. */
  problem: string | null;
  processes: readonly Process[];
  isTakingOver: boolean;
}

/**
 * Waits until this process is active, and serves meanwhile what a standby serves.
 *
 * @returns null where it was ended before. `stopServing` is to be called once the daemon can serve
 * @throws {StoreError} when the store can never be used
 */
export async function becomeActive(deps: StandbyDeps) {
  const { config, postgres, clock, log, signal, onLost } = deps;
  const seen: Seen = { problem: null, processes: [], isTakingOver: false };
  const { address = null, leaseMs = usualLeaseMs } = config.cluster ?? {};
  const lost = (error: Error): void => {
    log.error({ event: "store.lost" }, error.message);
    onLost();
  };
  const own = { address, leaseMs, clock, log, onLost: lost };
  let candidate: Candidate | null = null;
  let server: ReturnType<typeof openStandbyWeb> | null = null;
  const stopServing = async (): Promise<void> => server?.close();
  const reports = createReports(log);

  /** @returns how long to wait until the next attempt; null: it is active */
  const attempt = async (): Promise<number | null> => {
    try {
      candidate ??= await openCandidate(postgres, own);
      if (await candidate.tryToTakeOver()) return null;
      seen.processes = await candidate.processes();
      seen.problem = null;
      return tryEveryMs;
    } catch (error) {
      await candidate?.close();
      candidate = null;
      const isTemporary = error instanceof StoreUnavailableError;
      if (!(error instanceof StoreError) || (deps.isFirst && !isTemporary)) throw error;
      seen.problem = error.message;
      return connectAgainMs;
    }
  };

  try {
    for (let hasWaited = false; !signal.aborted; hasWaited = true) {
      const waitMs = await attempt();
      if (waitMs === null && candidate) {
        seen.isTakingOver = true;
        const takeOvers = deps.takeOvers + Number(hasWaited || !deps.isFirst);
        log.info({ event: "process.active", take_overs: takeOvers }, "this process is active");
        return { active: { candidate: candidate as Candidate, takeOvers }, stopServing };
      }
      if (server === null) {
        server = openStandbyWeb(deps, seen);
        await server.listen(config.http);
        deps.onServing();
      }
      if (seen.problem === null) reports.standsBy(seen.processes);
      else reports.cannotOpen(seen.problem);
      await delay(clock, waitMs ?? 0, signal);
    }
  } catch (error) {
    await stopServing();
    throw error;
  }
  await (candidate as Candidate | null)?.close();
  await stopServing();
  return null;
}

/** Logs each state once. */
function createReports(log: Logger) {
  let last = "";
  const once = (state: string, report: () => void): void => {
    if (state !== last) report();
    last = state;
  };
  return {
    standsBy(processes: readonly Process[]): void {
      const text = activeText(processes);
      const { address = null } = processes.find(({ isActive }) => isActive) ?? {};
      once(`standing by ${address}`, () =>
        log.info({ event: "process.standing_by", active: address }, `standing by. ${text}`),
      );
    },
    cannotOpen(reason: string): void {
      once("not opened", () =>
        log.error(
          { event: "store.not_opened", reason },
          `the store cannot be opened; it is retried every second: ${reason}`,
        ),
      );
    },
  };
}

function activeText(processes: readonly Process[]): string {
  const active = processes.find(({ isActive }) => isActive);
  if (!active) return "No process is active at present.";
  const { address, sinceMs, isLive } = active;
  const name = address ?? "A process without cluster.address";
  const since = new Date(sinceMs).toISOString();
  return isLive
    ? `${name} has been active since ${since}.`
    : `${name} was active from ${since}, and its lease has ended.`;
}

function openStandbyWeb(deps: StandbyDeps, seen: Seen) {
  const { config, reloads, takeOvers } = deps;
  const { http, cluster } = config;
  const { tls } = http;
  const active = (): ActivePeer => {
    const retryAfterMs = cluster?.leaseMs ?? usualLeaseMs;
    if (seen.problem !== null) {
      // The problem names the database, and not everyone may ask for the readiness.
      const text = "It cannot use PostgreSQL; /-/ready has the reason.";
      return { address: null, text, retryAfterMs };
    }
    if (seen.isTakingOver) {
      return { address: null, text: "It is becoming active.", retryAfterMs: connectAgainMs };
    }
    const found = seen.processes.find((each) => each.isActive && each.isLive);
    return { address: found?.address ?? null, text: activeText(seen.processes), retryAfterMs };
  };
  return createStandbyServer({
    metrics: createWaitingMetrics({
      build: { version, revision },
      readReload: reloads.last,
      readActivity: () => ({ takeOvers, mayActForMs: 0 }),
    }),
    async readiness() {
      if (seen.problem !== null) return { ready: false, reason: seen.problem };
      return { ready: true, note: `this process stands by. ${activeText(seen.processes)}` };
    },
    deadLoop: () => null,
    active,
    requestReload: reloads.request,
    proxy: http.auth.proxy,
    ca: cluster?.ca ?? null,
    clientCertificate: () =>
      tls?.clientCaFile
        ? new Secret(
            `${readFileSync(tls.certificateFile, "utf8")}\n${readFileSync(tls.keyFile, "utf8")}`,
          )
        : undefined,
    ...webSettings(deps),
  });
}
