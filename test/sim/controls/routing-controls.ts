import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import type { ScenarioReceiver } from "../draw/receivers.ts";
import type { EscalationStep } from "../draw/rules.ts";
import { ofIncidents, ofPart, ofReceivers, ofRules, ofStore } from "./mutation.ts";
import type { Mutation, NegativeControl } from "./mutation.ts";

const ofEscalation = (
  change: (steps: readonly EscalationStep[]) => readonly EscalationStep[],
): Mutation => ofRules((rule) => ({ ...rule, escalation: change(rule.escalation ?? []) }));

/** Those who are notified of what nobody acknowledges. */
const superiors = ["lead", "boss"];

const withoutReceiver = (outcome: IncidentOutcome, isDropped: (name: string) => boolean) => ({
  outbox: outcome.outbox.filter(({ receiver }) => !isDropped(receiver)),
  written: outcome.written.map((each) => ({
    ...each,
    receivers: each.receivers.filter((name) => !isDropped(name)),
  })),
});

/** Daemons that notify the wrong people, or at the wrong time. */
export const routingControls: Readonly<Record<string, NegativeControl>> = {
  "skips the last step of an escalation": {
    from: 32,
    caughtAs: /was not notified to (lead|boss), and nothing inhibits it/,
    ...ofEscalation((steps) => steps.slice(0, -1)),
  },
  "takes the steps of an escalation too soon": {
    from: 32,
    caughtAs: /was notified to (lead|boss), though its step was not due/,
    ...ofEscalation((steps) => steps.map((step) => ({ ...step, afterMs: step.afterMs / 2 }))),
  },
  "repeats the steps of an escalation after a restart": {
    from: 32,
    caughtAs: /^(lead|boss) was sent incident\.firing of .* [2-9] times instead of 1/,
    between: "delete from incident_receivers where receiver in ('lead', 'boss')",
  },
  "forgets at a restart when incidents fired": {
    from: 32,
    caughtAs: /was not notified to (lead|boss), and nothing inhibits it/,
    between: "update incidents set fired_at_ms = null where phase = 'firing'",
  },
  "escalates what is acknowledged": {
    from: 18,
    caughtAs: /was notified to (lead|boss), though it was acknowledged/,
    ...ofStore((store) => ({
      suppressions: {
        ...store.suppressions,
        read: async (nowMs) => ({
          ...(await store.suppressions.read(nowMs)),
          acknowledgements: [],
        }),
      },
    })),
  },
  "does not escalate when an acknowledgement has ended": {
    from: 17,
    caughtAs: /was not notified to (lead|boss), and nothing inhibits it/,
    ...ofPart("acknowledgements", (acknowledgements) => ({
      acknowledge: (selection, given, compose) =>
        acknowledgements.acknowledge(selection, { ...given, endsAtMs: null }, compose),
    })),
  },
  "does not notify of the end those whom it escalated to": {
    from: 32,
    caughtAs: /^(lead|boss) was sent incident\.resolved of .* 0 times instead of 1/,
    ...ofIncidents(({ outbox }) => ({
      outbox: outbox.filter(
        ({ receiver, type }) => type !== "incident.resolved" || !superiors.includes(receiver),
      ),
    })),
  },
  "notifies receivers outside their hours": {
    from: 32,
    caughtAs: /was notified to night, though it is outside its hours/,
    ...ofReceivers((receiver) => ({ ...receiver, hours: null })),
  },
  "takes the hours of receivers to be in another zone": {
    from: 49,
    caughtAs: /was (not )?notified to night/,
    ...ofReceivers(({ hours, ...receiver }) => ({
      ...receiver,
      hours: hours ? { ...hours, timeZone: "Asia/Tokyo" } : null,
    })),
  },
  "does not notify receivers of what fires when their hours begin": {
    from: 49,
    caughtAs: /was not notified to night, and nothing inhibits it/,
    ...ofIncidents((outcome) => {
      const fired = new Set(
        outcome.steps.flatMap(({ step, incident }) => (step === "fired" ? [incident.id] : [])),
      );
      const joining = new Set(
        outcome.outbox
          .filter(({ type, incident }) => type === "incident.firing" && !fired.has(incident.id))
          .map(({ receiver }) => receiver),
      );
      return withoutReceiver(outcome, (name) => name === "night" && joining.has(name));
    }),
  },
  "does not notify of the end outside the hours of a receiver": {
    from: 73,
    caughtAs: /^night was sent incident\.resolved of .* 0 times instead of 1/,
    ...ofIncidents(({ outbox }) => ({
      outbox: outbox.filter(
        ({ receiver, type }) => type !== "incident.resolved" || receiver !== "night",
      ),
    })),
  },
  "notifies receivers of what their match excludes": {
    from: 110,
    caughtAs: /was notified to squad, though its match excludes that/,
    ...ofReceivers((receiver: ScenarioReceiver) => ({ ...receiver, route: null })),
  },
  "notifies nobody whose match names a team": {
    from: 9,
    caughtAs: /was not notified to (squad|night|lead|boss), and nothing inhibits it/,
    ...ofReceivers(({ route, ...receiver }) => ({
      ...receiver,
      route: route?.team === undefined ? (route ?? null) : { rules: ["nothing"] },
    })),
  },
};
