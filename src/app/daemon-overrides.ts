import type { Dispatcher } from "undici";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import type { WakeAt } from "../polling/ticker.ts";
import type { Candidate } from "../store/postgres/candidate.ts";
import type { Store, StoreOptions } from "../store/store.ts";
import type { LastReload, ReloadAnswer } from "../web/server.ts";

/** What depends on the outside: with these replaced, one seed replays the whole daemon. */
export interface DaemonOverrides {
  readonly clock?: Clock;
  /** Replaces node-cron, which knows no clock but the machine's. */
  readonly wakeAt?: WakeAt;
  readonly random?: Random;
  readonly newIncidentId?: () => string;
  readonly newSilenceId?: () => string;
  readonly log?: Logger;
  /** Replaces the network. Each dispatcher is destroyed by its user. */
  readonly createDispatcher?: () => Dispatcher;
  /** How it is asked to read its configuration again. Default: it is not. */
  readonly reloads?: {
    readonly request: () => ReloadAnswer;
    readonly last: () => LastReload;
  };
  /** @throws {StoreError} */
  readonly openStore?: (
    path: string,
    clock: Clock,
    options: StoreOptions,
  ) => Store | Promise<Store>;
  /** Set on PostgreSQL where this process is active already. Default: it becomes active, and does not wait for it. */
  readonly active?: ActiveProcess | undefined;
}

/** On PostgreSQL, a process that holds the lock of the store. */
export interface ActiveProcess {
  readonly candidate: Candidate;
  /** How often it has become active since it started, but for its start. */
  readonly takeOvers: number;
}
