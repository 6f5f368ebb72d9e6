import type { FlapRecord } from "../../../src/alerts/flap-record.ts";
import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import type { Incident } from "../../../src/alerts/incident.ts";
import { postableAlertsSchema } from "../../support/postable-alerts.ts";
import type { ScenarioReceiver } from "../draw/receivers.ts";
import {
  ignoresTotalCount,
  noIncidents,
  ofPart,
  ofRules,
  ofStore,
  ofVerdicts,
} from "./mutation.ts";
import type { Mutation, NegativeControl } from "./mutation.ts";

const ofReceivers = (change: (receiver: ScenarioReceiver) => ScenarioReceiver): Mutation => ({
  configured: (configured) => ({ ...configured, receivers: configured.receivers.map(change) }),
});

const ofIncidents = (change: (incidents: IncidentOutcome) => Partial<IncidentOutcome>): Mutation =>
  ofVerdicts(({ incidents, ...verdict }) => ({
    ...verdict,
    incidents: { ...incidents, ...change(incidents) },
  }));

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
    from: 1,
    caughtAs:
      /not then for that|something else was not notified|was resolved when|notified too early|notified for nothing/,
    configured: (configured) => ({ ...configured, maintenance: [] }),
  },
  "records deliveries before it sends them": {
    from: 27,
    ...ofPart("outbox", (outbox) => ({
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
  "keeps no order": {
    from: 27,
    ...ofPart("outbox", (outbox, databases) => ({
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
  "writes the outbox apart from the poll": {
    from: 17,
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
    from: 31,
    between: "delete from silences",
  },
  "forgets acknowledgements at a restart": {
    from: 1,
    between: "delete from acknowledgements",
  },
  "notifies each time of what flaps": {
    from: 39,
    ...ofRules((rule) => (rule.on === "server" ? { ...rule, flap: null } : rule)),
  },
  "ends incidents of removed rules without a notification": {
    from: 39,
    ...ofStore((store) => ({
      commitIncidents: (targetId, incidents) =>
        store.commitIncidents(targetId, { ...incidents, outbox: [] }),
    })),
  },
  "waits for no interval": {
    from: 27,
    ...ofReceivers((receiver) => ({ ...receiver, groupIntervalMs: 0 })),
  },
  "merges groups too soon": {
    from: 27,
    ...ofReceivers((receiver) => ({ ...receiver, groupLimit: 1 })),
  },
  "notifies of no dead letter": {
    from: 6,
    ...ofPart("outbox", (outbox) => ({
      settle: (seq, settlement, attempt) =>
        outbox.settle(seq, settlement, attempt, () => noIncidents),
    })),
  },
  "replays nothing": {
    from: 2,
    ...ofPart("notifications", () => ({ replay: async () => 1 })),
  },
  "drops at a reload what waits for a receiver that was removed": {
    from: 27,
    caughtAs: /was sent incident\.(firing|resolved) of .* 0 times instead of 1/,
    reloading({ receivers }) {
      const names = Array.from(receivers, (name) => `'${name}'`).join();
      return `delete from outbox_items where notification_seq is null and receiver not in (${names});
          update notifications set state = 'delivered' where state = 'pending' and receiver not in (${names});`;
    },
  },
  "goes on sending to a receiver that was removed": {
    from: 27,
    caughtAs: /though it was not configured/,
    configured(configured) {
      const receivers = new Set(configured.receivers.map(({ name }) => name));
      return { ...configured, stage: { ...configured.stage, receivers } };
    },
  },
  "resolves at PagerDuty under another dedup_key": {
    from: 7,
    caughtAs: /not of one alert at PagerDuty/,
    sent: (body) =>
      body.includes('"event_action":"resolve"')
        ? body.replace(/"dedup_key":"[^"]*/, "$&-over")
        : body,
  },
  "resolves an alert at PagerDuty while others of it fire": {
    from: 16,
    caughtAs: /is not open at PagerDuty/,
    ...ofPart("notified", () => ({ firingOf: async () => [] })),
  },
  "sends no alert to an Alertmanager again": {
    from: 27,
    caughtAs: /did not fire at the Alertmanager/,
    ...ofPart("notified", (notified) => ({
      notifiedTo: async (receiver, sinceMs, about) =>
        about === "all" ? [] : notified.notifiedTo(receiver, sinceMs, about),
    })),
  },
  "resolves at an Alertmanager an alert with other labels": {
    from: 27,
    caughtAs: /still fired at the Alertmanager/,
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
  "mentions everybody at Slack": {
    from: 21,
    caughtAs: /refused a message: .*it mentions or links/,
    sent: (body) => (body.includes('"mrkdwn"') ? body.replace("• ", "• <!channel> ") : body),
  },
  "notifies of a pool at once": {
    from: 39,
    caughtAs: /pool .*: incident-\d+ was notified too early/,
    ...ofRules((rule) => (rule.on === "pool" ? { ...rule, hold: { ms: 0 } } : rule)),
  },
  "notifies of no pool": {
    from: 36,
    caughtAs: /pool .*: nobody was notified/,
    ...ofVerdicts((verdict) => {
      const { pools } = verdict;
      const incidents = pools && { ...pools.incidents, outbox: [] };
      return { ...verdict, pools: pools && incidents && { ...pools, incidents } };
    }),
  },
  "judges pools by partial listings": {
    from: 51,
    caughtAs: /pool .*: (incident|nobody)/,
    ...ignoresTotalCount,
  },
  "forgets at a restart for how long pools were observed": {
    from: 39,
    caughtAs: /pool .*: (incident|nobody)/,
    between: "delete from pool_clocks",
  },
  "never inhibits": {
    from: 2,
    caughtAs: /was notified to .*, though another incident explains it/,
    ...ofIncidents(({ written, steps }) => {
      const inhibited = new Set(
        steps.flatMap(({ step, incident }) => (step === "inhibited" ? [incident.id] : [])),
      );
      const receivers = ["oncall", "team", "board"];
      return {
        written: written.map((each) => (inhibited.has(each.id) ? { ...each, receivers } : each)),
      };
    }),
  },
  "inhibits for ever": {
    from: 6,
    caughtAs:
      /nobody was notified, though it held|was sent incident\.firing of .* 0 times instead of 1/,
    ...ofStore((store) => {
      const inhibited = new Set<string>();
      return {
        commitPoll(targetId, verdict) {
          const { written, outbox } = verdict.incidents;
          for (const each of written) if (each.inhibitedBy !== null) inhibited.add(each.id);
          const left = outbox.filter(({ incident }) => !inhibited.has(incident.id));
          const incidents = { ...verdict.incidents, outbox: left };
          return store.commitPoll(targetId, { ...verdict, incidents });
        },
      };
    }),
  },
  "inhibits without an inhibitor": {
    from: 3,
    caughtAs: /is inhibited by .*, which does not explain it/,
    ...ofIncidents(({ written }) => ({
      written: written.map((each) => {
        const isDown = each.subject.kind === "target" && each.phase.name === "firing";
        return isDown ? { ...each, inhibitedBy: "incident-0" } : each;
      }),
    })),
  },
  "fires a region for one target": {
    from: 3,
    caughtAs: /fired though its targets did not fail alike/,
    ...ofPart("regions", (regions) => ({
      async read(region) {
        const stored = await regions.read(region);
        return { ...stored, targets: [...stored.targets, ...stored.targets] };
      },
    })),
  },
  "never judges whether a region fails": {
    from: 3,
    caughtAs: /region-down .*: did not fire for what failed/,
    ...ofPart("regions", (regions) => ({
      read: async (region) => ({ ...(await regions.read(region)), targets: [] }),
    })),
  },
  "starts the incident of a region when it fires": {
    from: 4,
    caughtAs: /region-down .*: .* did not start with the first failure/,
    ...ofPart("regions", (regions) => ({
      commit(region, { written, ...more }) {
        const late = written.map((each) => ({ ...each, startedAtMs: each.firedAtMs ?? 0 }));
        return regions.commit(region, { ...more, written: late });
      },
    })),
  },
  "counts no resolve for flapping": {
    from: 3,
    caughtAs: /target-down .*: (incident|nobody)/,
    ...forgetsFlapping,
  },
  "notifies of no probe": {
    from: 93,
    caughtAs: /probe .*: nobody was notified/,
    ...ofPart("probes", (probes) => ({
      commitRun: (id, verdict) =>
        probes.commitRun(id, { ...verdict, incidents: { ...verdict.incidents, outbox: [] } }),
    })),
  },
};
