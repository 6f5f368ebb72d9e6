import type { ScenarioProbe } from "../probes.ts";
import { isRefusal, ofRules, ofStore } from "./mutations.ts";
import type { Mutation } from "./mutations.ts";

/** Notifies of pools as soon as their condition holds. */
export const waitsForNoPool = ofRules((rule) =>
  rule.on === "pool" ? { ...rule, hold: { ms: 0 } } : rule,
);

/** Writes the incidents of pools, and not what is to be notified of them. */
export const dropsNotificationsOfPools: Mutation = ofStore((store) => ({
  ...store,
  commitPoll(targetId, verdict) {
    const { pools } = verdict;
    const quiet = pools && { ...pools, incidents: { ...pools.incidents, outbox: [] } };
    return store.commitPoll(targetId, { ...verdict, pools: quiet });
  },
}));

const ofProbes = (change: (probe: ScenarioProbe) => ScenarioProbe): Mutation => ({
  configured: (settings) => ({ ...settings, probes: settings.probes.map(change) }),
});

export const probesTwiceAsOften = ofProbes((probe) => ({ ...probe, everyMs: probe.everyMs / 2 }));

export const probesRarely = ofProbes((probe) => ({ ...probe, everyMs: 20 * probe.everyMs }));

export const expectsNothing = ofProbes((probe) => ({ ...probe, expects: "anything" }));

/** Takes a refusal of a key that is probed for any other failure. */
export const probesRefusedKeys: Mutation = {
  answer: (answer, path) =>
    path !== "/local-sandbox" && isRefusal(answer) ? { ...answer, status: 404 } : answer,
};

/** Waits only for as long as answers to polls ask for. */
export const ignoresRetryAfterOfProbes: Mutation = {
  answer: (answer, path) => (path === "/local-sandbox" ? answer : { ...answer, headers: {} }),
};

/** Writes runs, and not what is to be notified of them. */
export const dropsNotificationsOfProbes: Mutation = ofStore((store) => ({
  ...store,
  probes: {
    ...store.probes,
    commitRun: (id, verdict) =>
      store.probes.commitRun(id, { ...verdict, incidents: { ...verdict.incidents, outbox: [] } }),
  },
}));

/** Goes on as if pools had been observed for no time. */
export const forgetsPoolClocksAtRestart: Mutation = { between: "delete from pool_clocks" };
