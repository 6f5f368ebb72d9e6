import { postableAlertsSchema } from "../../support/postable-alerts.ts";
import { ofStore } from "./mutations.ts";
import type { Mutation } from "./mutations.ts";

/** Daemons that break promises about receivers of a type, or that come and go. */

/** Drops at a reload what waits for a receiver that is not configured any more. */
export const forgetsWhoLeaves: Mutation = {
  reloading({ receivers }) {
    const names = Array.from(receivers, (name) => `'${name}'`).join();
    return `delete from outbox_items where notification_seq is null and receiver not in (${names});
      update notifications set state = 'delivered' where state = 'pending' and receiver not in (${names});`;
  },
};

/** Goes on with the receivers that there were at first. */
export const keepsWhoLeaves: Mutation = {
  configured(settings) {
    const receivers = new Set(settings.receivers.map(({ name }) => name));
    return { ...settings, stage: { ...settings.stage, receivers } };
  },
};

/** Lets what a server is called become a mention of everybody at Slack. */
export const mentionsAtSlack: Mutation = {
  sent: (body) => (body.includes('"mrkdwn"') ? body.replace("• ", "• <!channel> ") : body),
};

/** Resolves at PagerDuty an alert that there is not. */
export const resolvesAnotherAlert: Mutation = {
  sent: (body) =>
    body.includes('"event_action":"resolve"')
      ? body.replace(/"dedup_key":"[^"]*/, "$&-over")
      : body,
};

/** Sends alerts to an Alertmanager only when something changes. */
export const sendsNoAlertAgain: Mutation = ofStore((store) => ({
  ...store,
  notified: {
    ...store.notified,
    notifiedTo: async (receiver, sinceMs, about) =>
      about === "all" ? [] : store.notified.notifiedTo(receiver, sinceMs, about),
  },
}));

/** Resolves at an Alertmanager an alert that there is not. */
export const resolvesOtherLabels: Mutation = {
  sent(body) {
    if (!body.startsWith('[{"labels"')) return body;
    const alerts = postableAlertsSchema
      .parse(JSON.parse(body))
      .map((alert) =>
        "resolved_reason" in alert.annotations
          ? { ...alert, labels: { ...alert.labels, state: "resolved" } }
          : alert,
      );
    return JSON.stringify(alerts);
  },
};
