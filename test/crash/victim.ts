import { once } from "node:events";
import { flushCompileCache } from "node:module";
import { StatementSync } from "node:sqlite";
import { Client } from "pg";
import { acknowledgeIncidents } from "../../src/api/operations/acknowledgements.ts";
import { createDaemon } from "../../src/app/daemon.ts";
import { systemClock, type Clock } from "../../src/lib/clock.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { clocksEveryMs } from "../../src/store/poll-commits.ts";
import { openConfiguredStore, type Store } from "../../src/store/store.ts";
import { testConfig } from "../support/test-config.ts";

export interface VictimSettings {
  readonly settings: object;
  /** Write the outbox after the poll's transaction instead of within it: what must be caught. */
  readonly outboxOutside: boolean;
}

/** What the parent asks a victim for: first to start, and then to go on with what there is to do. */
export interface Order {
  /** At which statement from now on the victim is killed. Default: at none. */
  readonly killAtStatement?: number;
  /** How far its clock is ahead of the machine's. */
  readonly aheadMs: number;
  /** Before it polls, somebody acknowledges what fires, for this long. Default: nobody does. */
  readonly acknowledgeForMs?: number | undefined;
}

/**
 * A daemon that is killed just before a statement of its store, as by the kernel: the signal can
 * not be caught, and nothing is flushed or rolled back.
 */
let statementsLeft = Number.POSITIVE_INFINITY;
function countCalls(prototype: object, method: string): void {
  const original: unknown = Reflect.get(prototype, method);
  if (typeof original !== "function") throw new Error(`there is no ${method}`);
  Object.defineProperty(prototype, method, {
    value: function countedDown(...parameters: unknown[]) {
      countDown();
      return Reflect.apply(original, this, parameters);
    },
  });
}
for (const method of ["run", "all"]) countCalls(StatementSync.prototype, method);
countCalls(Client.prototype, "query");

function countDown(): void {
  statementsLeft -= 1;
  if (statementsLeft <= 0) process.kill(process.pid, "SIGKILL");
}

const { settings, outboxOutside }: VictimSettings = JSON.parse(process.argv[2] ?? "null");
let [order]: Order[] = await once(process, "message");
const aheadOf = (ms: number): number => ms + (order?.aheadMs ?? 0);
const clock: Clock = {
  ...systemClock,
  now() {
    const { utcMs, monotonicMs } = systemClock.now();
    return { utcMs: aheadOf(utcMs), monotonicMs: aheadOf(monotonicMs) };
  },
  // It may not live as long as the clocks of the second key's target wait to be written.
  setTimer: (ms, callback) => systemClock.setTimer(ms === clocksEveryMs ? 0 : ms, callback),
};
const config = testConfig(settings);
const daemon = await createDaemon(config, {
  clock,
  log: createLogger({ level: "silent", format: "json" }),
  ...(outboxOutside && {
    openStore: async (_path, ownClock, options) =>
      withOutboxOutside(await openConfiguredStore(config.store, ownClock, options)),
  }),
});
for (;;) {
  const { acknowledgeForMs } = order ?? {};
  if (acknowledgeForMs !== undefined) {
    const duration = `${acknowledgeForMs / 1_000}s`;
    await daemon.api(acknowledgeIncidents, { all: true, author: "ann", duration });
  }
  await daemon.runOnce();
  // Else it would be written at the end of the process, to which a victim does not get.
  flushCompileCache();
  process.send?.("done");
  [order] = await once(process, "message");
  statementsLeft = order?.killAtStatement ?? 1;
}

function withOutboxOutside(store: Store): Store {
  return {
    ...store,
    async commitPoll(targetId, verdict) {
      const { incidents } = verdict;
      await store.commitPoll(targetId, { ...verdict, incidents: { ...incidents, outbox: [] } });
      const { outbox } = incidents;
      const nothing = { written: [], dropped: [], flaps: [], steps: [] };
      await store.commitIncidents(targetId, { ...nothing, outbox });
    },
  };
}
