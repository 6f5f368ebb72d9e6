import type { FlapRecord } from "../../../src/alerts/flap-record.ts";
import type { Incident } from "../../../src/alerts/incident.ts";
import {
  ignoresTotalCount,
  noIncidents,
  ofIncidents,
  ofPart,
  ofRules,
  ofStore,
} from "./mutation.ts";
import type { NegativeControl } from "./mutation.ts";

/** What ends does not count for flapping, in the memory of the process, too. */
const forgetsFlapping = ofIncidents(({ flaps, steps }) => {
  const keyOf = ({ rule, subject }: FlapRecord | Incident): string =>
    JSON.stringify([rule, subject]);
  const ended = new Set(
    steps.flatMap(({ step, incident }) => (step === "resolved" ? [keyOf(incident)] : [])),
  );
  const left = flaps.map((each) => (ended.has(keyOf(each)) ? { ...each, enteredMs: [] } : each));
  if (Array.isArray(flaps)) flaps.splice(0, flaps.length, ...left);
  return { flaps };
});

/** Daemons that notify receivers of the wrong things, at the wrong time, or not at all. */
export const alertControls: Readonly<Record<string, NegativeControl>> = {
  "knows no maintenance windows": {
    from: 83,
    caughtAs:
      /not then for that|something else was not notified|was resolved when|notified too early|notified for nothing/,
    configured: (configured) => ({ ...configured, maintenance: [] }),
  },
  "records deliveries before it sends them": {
    from: 53,
    ...ofPart("outbox", (outbox) => ({
      async ready(...of) {
        const ready = await outbox.ready(...of);
        for (const { seq, nextAttemptAtMs: atMs } of ready) {
          const settlement = { state: "delivered", settledAtMs: atMs } as const;
          await outbox.settle(seq, settlement, { atMs, failure: null }, () => noIncidents);
        }
        return ready;
      },
    })),
  },
  "keeps no order": {
    from: 50,
    ...ofPart("outbox", (outbox, databases) => ({
      async ready(...of) {
        for (const database of databases) {
          if (database.isOpen && !database.isTransaction) {
            database.exec("update notifications set waits_for = null");
          }
        }
        return outbox.ready(...of);
      },
    })),
  },
  "writes the outbox apart from the poll": {
    from: 133,
    ...ofStore((store) => ({
      async commitPoll(targetId, verdict) {
        const { outbox, ...incidents } = verdict.incidents;
        const withoutOutbox = { ...incidents, outbox: [] };
        await store.commitPoll(targetId, { ...verdict, incidents: withoutOutbox });
        await store.commitIncidents(targetId, { ...noIncidents, outbox });
      },
    })),
  },
  "forgets silences at a restart": {
    from: 50,
    between: "delete from silences",
  },
  "forgets acknowledgements at a restart": {
    from: 55,
    caughtAs: /acknowledg|reminded/,
    between: "delete from acknowledgements",
  },
  "notifies each time of what flaps": {
    from: 90,
    ...ofRules((rule) => (rule.on === "server" ? { ...rule, flap: null } : rule)),
  },
  "ends incidents of removed rules without a notification": {
    from: 79,
    ...ofStore((store) => ({
      commitIncidents: (targetId, incidents) =>
        store.commitIncidents(targetId, { ...incidents, outbox: [] }),
    })),
  },
  "notifies of no dead letter": {
    from: 40,
    ...ofPart("outbox", (outbox) => ({
      settle: (seq, settlement, attempt) =>
        outbox.settle(seq, settlement, attempt, () => noIncidents),
    })),
  },
  "replays nothing": {
    from: 53,
    ...ofPart("notifications", () => ({ replay: async () => 1 })),
  },
  "drops at a reload what waits for a receiver that was removed": {
    from: 76,
    caughtAs: /was sent incident\.(firing|resolved) of .* 0 times instead of 1/,
    reloading({ receivers }) {
      const names = Array.from(receivers, (name) => `'${name}'`).join();
      return `delete from outbox_items where notification_seq is null and receiver not in (${names});
          update notifications set state = 'delivered' where state = 'pending' and receiver not in (${names});`;
    },
  },
  "goes on sending to a receiver that was removed": {
    from: 84,
    caughtAs: /though it was not configured/,
    configured(configured) {
      const receivers = new Set(configured.receivers.map(({ name }) => name));
      return { ...configured, stage: { ...configured.stage, receivers } };
    },
  },
  "resolves at PagerDuty under another dedup_key": {
    from: 50,
    caughtAs: /not of one alert at PagerDuty/,
    sent: (body) =>
      body.includes('"event_action":"resolve"')
        ? body.replace(/"dedup_key":"[^"]*/, "$&-over")
        : body,
  },
  "resolves an alert at PagerDuty while others of it fire": {
    from: 49,
    caughtAs: /is not open at PagerDuty/,
    ...ofPart("notified", () => ({ firingOf: async () => [] })),
  },
  "notifies of a pool at once": {
    from: 50,
    caughtAs: /pool .*: incident-\d+ was notified too early/,
    ...ofRules((rule) => (rule.on === "pool" ? { ...rule, hold: { ms: 0 } } : rule)),
  },
  "notifies of no pool": {
    from: 50,
    caughtAs: /pool .*: nobody was notified/,
    ...ofStore((store) => ({
      commitPools: (targetId, { clocks, incidents }) =>
        store.commitPools(targetId, { clocks, incidents: { ...incidents, outbox: [] } }),
    })),
  },
  "judges pools by partial listings": {
    from: 83,
    caughtAs: /pool .*: (incident|nobody)/,
    ...ignoresTotalCount,
  },
  "forgets at a restart for how long pools were observed": {
    from: 79,
    caughtAs: /pool .*: (incident|nobody)/,
    between: "delete from pool_clocks",
  },
  "counts no resolve for flapping": {
    from: 90,
    caughtAs: /target-down .*: (incident|nobody)/,
    ...forgetsFlapping,
  },
  "counts for flapping what did not fire": {
    from: 54,
    ...ofRules((rule) =>
      "flap" in rule && rule.flap ? { ...rule, flap: { ...rule.flap, firingOnly: false } } : rule,
    ),
  },
  "notifies of no probe": {
    from: 90,
    caughtAs: /probe .*: nobody was notified/,
    ...ofPart("probes", (probes) => ({
      commitRun: (id, verdict) =>
        probes.commitRun(id, { ...verdict, incidents: { ...verdict.incidents, outbox: [] } }),
    })),
  },
};
