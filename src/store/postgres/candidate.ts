import { randomUUID } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { version } from "../../lib/version.ts";
import { StoreLostError } from "../store-error.ts";
import type { PostgresSettings } from "../store-settings.ts";
import { tryLock } from "./processes.ts";
import { endExpired, enterProcess, leaving, processesQuery, renewLease } from "./processes.ts";
import type { Process } from "./processes.ts";
import { checkServer, nameOf, prepareSchema, type SchemaOptions } from "./schema-check.ts";
import { createConnector, PostgresError, type Connector, type Session } from "./session.ts";

/** This process stops before others may take over, as its clock may run slower than that of the database. */
const marginMs = 2_000;
/**
 * The monotonic clock of a suspended machine stands still. By how much the wall clock may have gained on it since the last
 * renewal; beyond that this process may act only once it has renewed its lease again.
 */
const longestSuspensionMs = 1_000;
const retryMs = 500;
const leavingMs = 2_000;

export const usualLeaseMs = 15_000;

export interface CandidateOptions {
  /** Where other processes reach the HTTP server of this one. */
  readonly address: string | null;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly log?: Pick<Logger, "info" | "warn"> | undefined;
  readonly schema?: SchemaOptions;
  /** Called once, when it has taken the lock and does not hold it any more. */
  readonly onLost: (error: StoreLostError) => void;
}

/** A process that is active, or may become it. Only the clock of the database and the own monotonic clock count. */
export class Candidate {
  readonly session: Session;
  readonly connector: Connector;
  private readonly options: CandidateOptions;
  private readonly own;
  private isActive = false;
  private isClosed = false;
  private isEntered = false;
  private lost: StoreLostError | null = null;
  /** Renews the lease once it is active: never behind what is being written. */
  private renewing: Session | null = null;
  private cancelRenewal = (): void => {};
  private isLate = false;
  /** On the monotonic clock. */
  private heldUntilMs = -Infinity;
  /** How far the wall clock was ahead of the monotonic one at the last renewal. */
  private aheadMs = 0;

  constructor(session: Session, connector: Connector, options: CandidateOptions) {
    this.session = session;
    this.connector = connector;
    this.options = options;
    const { address, leaseMs } = options;
    this.own = { id: randomUUID(), address, version, leaseMs };
  }

  /** Whether this process may send requests now. To be asked right before each. */
  mayAct(): boolean {
    return this.remainingMs() > 0;
  }

  /** How long it may act without renewing its lease. */
  remainingMs(): number {
    const { utcMs, monotonicMs } = this.options.clock.now();
    const isSuspended = utcMs - monotonicMs > this.aheadMs + longestSuspensionMs;
    if (!this.isActive || this.lost || isSuspended) return 0;
    return Math.max(0, this.heldUntilMs - monotonicMs);
  }

  /** @throws that it does not hold the lock any more */
  check(): void {
    if (this.lost) throw this.lost;
  }

  /**
   * Tries to become active, after it has ended the session of an active process whose lease has ended.
   *
   * @returns whether it is active
   */
  async tryToTakeOver(): Promise<boolean> {
    const { session, connector } = this;
    this.isEntered = this.isEntered
      ? (await renewLease(session, connector, this.own)) !== null
      : await enterProcess(session, this.own);
    if (this.isEntered) await endExpired(session, connector);
    if (!(await tryLock(session, connector))) return false;
    await prepareSchema(session, connector, this.options.schema);
    await enterProcess(session, this.own);
    this.isActive = true;
    await this.renew();
    this.scheduleRenewal(this.own.leaseMs / 3);
    return true;
  }

  /** The processes that run on the store, or did, the active one first. */
  async processes(): Promise<readonly Process[]> {
    try {
      return (await this.session.query(processesQuery(this.connector.schema))).rows;
    } catch (error) {
      // The store does not exist yet.
      if (error instanceof PostgresError) return [];
      throw error;
    }
  }

  /** Lets another process take over at once. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.cancelRenewal();
    const sessions = [this.session, this.renewing].flatMap((each) =>
      each?.isOpen() === true ? [each] : [],
    );
    await sessions[0]?.query(leaving, [this.own.id], leavingMs).catch(() => {});
    await Promise.all(sessions.map((session) => session.close()));
  }

  lose(why: string): void {
    if (this.lost || this.isClosed || !this.isActive) return;
    this.lost = new StoreLostError(
      `This process does not hold the lock of the store in ${nameOf(this.connector)} any more: ${why}. It stands by, and reads what is stored before it is active again.`,
    );
    this.cancelRenewal();
    this.session.abort();
    this.options.onLost(this.lost);
  }

  private async renew(): Promise<void> {
    const { utcMs, monotonicMs } = this.options.clock.now();
    if (!this.renewing?.isOpen()) this.renewing = await this.connector.connect();
    const holds = await renewLease(this.renewing, this.connector, this.own);
    if (holds !== true) return this.lose("PostgreSQL has ended its session");
    this.heldUntilMs = monotonicMs + this.own.leaseMs - marginMs;
    this.aheadMs = utcMs - monotonicMs;
  }

  private scheduleRenewal(inMs: number): void {
    this.cancelRenewal = this.options.clock.setTimer(inMs, () => void this.renewLogged());
  }

  private async renewLogged(): Promise<void> {
    const { clock, log } = this.options;
    const startedMs = clock.now().monotonicMs;
    let inMs = this.own.leaseMs / 3;
    try {
      await this.renew();
      if (this.isLate) log?.info({ event: "lease.renewed" }, "the lease is renewed again");
      this.isLate = false;
    } catch (err) {
      inMs = retryMs;
      if (!this.isLate && !this.isClosed) {
        log?.warn({ event: "lease.late", err }, "the lease could not be renewed; it is retried");
      }
      this.isLate = true;
    }
    if (this.isClosed || this.lost) return;
    this.scheduleRenewal(Math.max(0, startedMs + inMs - clock.now().monotonicMs));
  }
}

/** @throws {StoreError} when the server cannot be reached or used */
export async function openCandidate(
  settings: PostgresSettings,
  options: CandidateOptions,
): Promise<Candidate> {
  const connector = await createConnector(settings);
  let candidate: Candidate | null = null;
  const session = await connector.connect({
    onEnd: () => candidate?.lose("the connection was lost"),
  });
  try {
    await checkServer(session, connector);
    return (candidate = new Candidate(session, connector, options));
  } catch (error) {
    await session.close();
    throw error;
  }
}
