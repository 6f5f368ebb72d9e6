import { postableAlertsSchema } from "../../support/postable-alerts.ts";
import type { ScenarioReceiver } from "../draw/receivers.ts";
import { ignoresTotalCount, noIncidents, ofPart, ofRules, ofVerdicts } from "./mutation.ts";
import type { Mutation, NegativeControl } from "./mutation.ts";

const ofReceivers = (change: (receiver: ScenarioReceiver) => ScenarioReceiver): Mutation => ({
  configured: (configured) => ({ ...configured, receivers: configured.receivers.map(change) }),
});

/** Daemons that notify receivers of the wrong things, at the wrong time, or not at all. */
export const alertControls: readonly NegativeControl[] = [
  {
    name: "knows no maintenance windows",
    from: 1,
    caughtAs:
      /not then for that|something else was not notified|was resolved when|notified too early|notified for nothing/,
    mutation: { configured: (configured) => ({ ...configured, maintenance: [] }) },
  },
  {
    name: "marks messages as delivered before it sends them",
    from: 27,
    mutation: ofPart("outbox", (outbox) => ({
      async due(receiver, nowMs, limit, inFlight) {
        const due = await outbox.due(receiver, nowMs, limit, inFlight);
        for (const { seq } of due) {
          const settlement = { state: "delivered", settledAtMs: nowMs } as const;
          await outbox.settle(seq, settlement, { atMs: nowMs, failure: null }, () => noIncidents);
        }
        return due;
      },
    })),
  },
  {
    name: "keeps no order",
    from: 27,
    mutation: ofPart("outbox", (outbox, databases) => ({
      async due(receiver, nowMs, limit, inFlight) {
        for (const database of databases) {
          if (database.isOpen && !database.isTransaction) {
            database.exec("update notifications set waits_for = null");
          }
        }
        return outbox.due(receiver, nowMs, limit, inFlight);
      },
    })),
  },
  {
    name: "writes the outbox apart from the poll",
    from: 10,
    mutation: {
      store: (store) => ({
        ...store,
        async commitPoll(targetId, verdict) {
          const { outbox, ...incidents } = verdict.incidents;
          const withoutOutbox = { ...incidents, outbox: [] };
          await store.commitPoll(targetId, { ...verdict, incidents: withoutOutbox });
          await store.commitIncidents(targetId, { ...noIncidents, outbox });
        },
      }),
    },
  },
  {
    name: "forgets silences at a restart",
    from: 31,
    mutation: { between: "delete from silences" },
  },
  {
    name: "forgets acknowledgements at a restart",
    from: 1,
    mutation: { between: "delete from acknowledgements" },
  },
  {
    name: "notifies each time of what flaps",
    from: 39,
    mutation: ofRules((rule) => (rule.on === "server" ? { ...rule, flap: null } : rule)),
  },
  {
    name: "ends incidents of removed rules without a notification",
    from: 39,
    mutation: {
      store: (store) => ({
        ...store,
        commitIncidents: (targetId, incidents) =>
          store.commitIncidents(targetId, { ...incidents, outbox: [] }),
      }),
    },
  },
  {
    name: "waits for no interval",
    from: 27,
    mutation: ofReceivers((receiver) => ({ ...receiver, groupIntervalMs: 0 })),
  },
  {
    name: "merges groups too soon",
    from: 27,
    mutation: ofReceivers((receiver) => ({ ...receiver, mergeAbove: 1 })),
  },
  {
    name: "notifies of no dead letter",
    from: 6,
    mutation: ofPart("outbox", (outbox) => ({
      settle: (seq, settlement, attempt) =>
        outbox.settle(seq, settlement, attempt, () => noIncidents),
    })),
  },
  {
    name: "replays nothing",
    from: 2,
    mutation: ofPart("notifications", () => ({ replay: async () => 1 })),
  },
  {
    name: "drops at a reload what waits for a receiver that was removed",
    from: 27,
    caughtAs: /was sent incident\.(firing|resolved) of .* 0 times instead of 1/,
    mutation: {
      reloading({ receivers }) {
        const names = Array.from(receivers, (name) => `'${name}'`).join();
        return `delete from outbox_items where notification_seq is null and receiver not in (${names});
          update notifications set state = 'delivered' where state = 'pending' and receiver not in (${names});`;
      },
    },
  },
  {
    name: "goes on sending to a receiver that was removed",
    from: 27,
    caughtAs: /though it was not configured/,
    mutation: {
      configured(configured) {
        const receivers = new Set(configured.receivers.map(({ name }) => name));
        return { ...configured, stage: { ...configured.stage, receivers } };
      },
    },
  },
  {
    name: "resolves at PagerDuty under another dedup_key",
    from: 4,
    caughtAs: /a resolve overtook its fire/,
    mutation: {
      sent: (body) =>
        body.includes('"event_action":"resolve"')
          ? body.replace(/"dedup_key":"[^"]*/, "$&-over")
          : body,
    },
  },
  {
    name: "sends no alert to an Alertmanager again",
    from: 27,
    caughtAs: /did not fire at the Alertmanager/,
    mutation: ofPart("notified", (notified) => ({
      notifiedTo: async (receiver, sinceMs, about) =>
        about === "all" ? [] : notified.notifiedTo(receiver, sinceMs, about),
    })),
  },
  {
    name: "resolves at an Alertmanager an alert with other labels",
    from: 27,
    caughtAs: /still fired at the Alertmanager/,
    mutation: {
      sent(body) {
        if (!body.startsWith('[{"labels"')) return body;
        const alerts = postableAlertsSchema.parse(JSON.parse(body)).map((alert) => {
          const isResolved = "resolved_reason" in alert.annotations;
          return {
            ...alert,
            labels: { ...alert.labels, ...(isResolved && { state: "resolved" }) },
          };
        });
        return JSON.stringify(alerts);
      },
    },
  },
  {
    name: "mentions everybody at Slack",
    from: 21,
    caughtAs: /refused a message: .*it mentions or links/,
    mutation: {
      sent: (body) => (body.includes('"mrkdwn"') ? body.replace("• ", "• <!channel> ") : body),
    },
  },
  {
    name: "notifies of a pool at once",
    from: 39,
    caughtAs: /pool .*: incident-\d+ was notified too early/,
    mutation: ofRules((rule) => (rule.on === "pool" ? { ...rule, hold: { ms: 0 } } : rule)),
  },
  {
    name: "notifies of no pool",
    from: 36,
    caughtAs: /pool .*: nobody was notified/,
    mutation: ofVerdicts((verdict) => {
      const { pools } = verdict;
      const incidents = pools && { ...pools.incidents, outbox: [] };
      return { ...verdict, pools: pools && incidents && { ...pools, incidents } };
    }),
  },
  {
    name: "judges pools by partial listings",
    from: 51,
    caughtAs: /pool .*: (incident|nobody)/,
    mutation: ignoresTotalCount,
  },
  {
    name: "forgets at a restart for how long pools were observed",
    from: 39,
    caughtAs: /pool .*: (incident|nobody)/,
    mutation: { between: "delete from pool_clocks" },
  },
  {
    name: "notifies of no probe",
    from: 93,
    caughtAs: /probe .*: nobody was notified/,
    mutation: ofPart("probes", (probes) => ({
      commitRun: (id, verdict) =>
        probes.commitRun(id, { ...verdict, incidents: { ...verdict.incidents, outbox: [] } }),
    })),
  },
];
