import { setImmediate as settle } from "node:timers/promises";
import { Agent } from "undici";
import type { Dispatcher } from "undici";
import type { Store } from "../../../src/store/store.ts";

/** Counts the polls and runs of a probe that are sent and that are committed, so that a test can wait for all. */
export function countCalls() {
  const calls = { sent: 0, committed: 0 };
  class CountingAgent extends Agent {
    override dispatch(
      request: Dispatcher.DispatchOptions,
      handler: Dispatcher.DispatchHandler,
    ): boolean {
      if (/\/(?:local-sandbox|user)/.test(request.path)) calls.sent += 1;
      return super.dispatch(request, handler);
    }
  }
  return {
    createDispatcher: () => new CountingAgent(),
    /** @param onPoll called before a poll is committed */
    count: (store: Store, onPoll = (): void => {}): Store => ({
      ...store,
      commitPoll(...poll) {
        calls.committed += 1;
        onPoll();
        return store.commitPoll(...poll);
      },
      probes: {
        ...store.probes,
        commitRun(...run) {
          calls.committed += 1;
          return store.probes.commitRun(...run);
        },
      },
    }),
    settled: async (): Promise<void> => {
      for (let turn = 0; turn < 20; turn += 1) await settle();
      while (calls.committed < calls.sent) await settle();
    },
  };
}
