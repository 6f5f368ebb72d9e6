import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { webhooks } from "./configuration.ts";
import type { Message } from "./sink.ts";

const notificationSchema = z.array(
  z.object({ id: z.string(), receiver: z.string(), state: z.string(), caused_at_ms: z.number() }),
);
const incidentSchema = z.array(z.object({ id: z.string(), receiver: z.string() }));
const itemSchema = z.array(
  z.object({ incident_id: z.string(), receiver: z.string(), caused_at_ms: z.number() }),
);

/** What was caused shortly before the end may wait for the next start, in a group or for its delivery. */
const latestMs = 10_000;

/**
 * Compares what webhooks accepted with the store of a daemon that has stopped after everything was delivered.
 *
 * @returns what is wrong, in words
 */
export function checkNotifications(
  file: string,
  accepted: readonly Message[],
  stoppedAtMs: number,
): readonly string[] {
  using store = new DatabaseSync(file, { readOnly: true });
  const names = webhooks.map((name) => `'${name}'`).join(", ");
  const notifications = notificationSchema.parse(
    store.prepare("select id, receiver, state, caused_at_ms from notifications").all(),
  );
  const firing = incidentSchema.parse(
    store
      .prepare(
        `select id, notified.receiver from incidents
         join incident_receivers as notified on incident_id = id
         where phase = 'firing' and inhibited_by is null and notified.receiver in (${names})`,
      )
      .all(),
  );
  const waiting = itemSchema.parse(
    store
      .prepare(
        `select incident_id, outbox_items.receiver, outbox_items.caused_at_ms from outbox_items
         left join notifications on notifications.seq = notification_seq
         where notification_seq is null or state = 'pending'`,
      )
      .all(),
  );
  const found: string[] = [];
  const report = (what: string, count: number): void => {
    if (count > 0) found.push(`${what}: ${count}`);
  };

  const isLate = ({ caused_at_ms: atMs }: { caused_at_ms: number }): boolean =>
    atMs < stoppedAtMs - latestMs;
  const dead = notifications.filter(({ state }) => state === "dead");
  report("dead letters", dead.length);
  report("what waits for too long in the outbox", waiting.filter(isLate).length);
  const sent = new Set(
    notifications
      .filter(({ receiver, state }) => webhooks.includes(receiver) && state === "delivered")
      .map(({ id }) => id),
  );
  const got = new Set(accepted.map(({ id }) => id));
  report("notifications that were lost", sent.difference(got).size);
  const known = new Set(notifications.map(({ id }) => id));
  report("notifications that the store does not know", got.difference(known).size);

  /** By receiver, incident and step, the ids under which it was sent. */
  const idsOfStep = new Map<string, Set<string>>();
  /** By receiver and incident, the last step that was sent. */
  const last = new Map<string, string>();
  for (const { receiver, id, type, incidents } of accepted) {
    for (const incident of incidents) {
      const subject = `${receiver} ${incident.id}`;
      const step = `${subject} ${type}`;
      idsOfStep.set(step, (idsOfStep.get(step) ?? new Set()).add(id));
      last.set(subject, incident.state);
    }
  }
  const doubled = [...idsOfStep.values()].filter((ids) => ids.size > 1);
  report("steps of incidents that were sent under several ids", doubled.length);
  const unsent = new Set(waiting.map((item) => `${item.receiver} ${item.incident_id}`));
  const shown = new Set(
    [...last].flatMap(([subject, state]) => (state === "firing" ? subject : [])),
  );
  const fires = new Set(firing.map(({ id, receiver }) => `${receiver} ${id}`));
  const compared = (some: Set<string>, others: Set<string>): number =>
    some.difference(others).difference(unsent).size;
  report("incidents that receivers believe to be firing", compared(shown, fires));
  report("firing incidents that receivers do not know", compared(fires, shown));
  return found;
}
