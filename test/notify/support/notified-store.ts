import { type Incident, notifiedIncident } from "../../../src/alerts/incident.ts";
import { plainText, type OutboxItem } from "../../../src/alerts/notification.ts";
import { createStore } from "../../../src/store/store.ts";
import { sqlite, type Engine } from "../../store/support/engines.ts";
import { outboxStoreOn } from "../../store/support/outbox-store.ts";
import { addTarget } from "../../support/add-target.ts";
import { research, startMs } from "../../support/fleet.ts";

type MessageText = Partial<OutboxItem>;

/** A store with incidents that receivers were notified of. */
export async function openNotifiedStore(more: MessageText = {}, engine: Engine = sqlite) {
  const opened = await engine.open();
  const { kysely } = opened;
  const store = createStore(kysely, () => Promise.resolve());
  const { id: targetId } = await addTarget(store, research);
  const itemsOf = (incident: Incident, text: MessageText): OutboxItem[] =>
    incident.receivers.map((receiver) => ({
      receiver,
      type: incident.resolvedAtMs === null ? "incident.firing" : "incident.resolved",
      rule: incident.rule,
      severity: incident.severity,
      condition: "in error",
      ...plainText,
      causedAtMs: startMs,
      ...text,
      incident: notifiedIncident(research, incident, null),
    }));
  const commitAs = async (text: MessageText, ...written: readonly Incident[]): Promise<void> => {
    const outbox = written.flatMap((incident) => itemsOf(incident, text));
    const nothing = { dropped: [], flaps: [], steps: [] };
    await store.commitIncidents(targetId, { ...nothing, written, outbox });
  };
  return {
    store,
    /** The same store, as delivery is tested on it. */
    outbox: outboxStoreOn(opened),
    /** Writes incidents as a poll does, each with an item for each of its receivers. */
    commit: (...written: readonly Incident[]) => commitAs(more, ...written),
    /** The same with items in other text. */
    commitAs,
    acknowledge: async (incidentId: string, author: string): Promise<void> => {
      const row = { incident_id: incidentId, author, note: null, at_ms: startMs };
      await kysely.insertInto("acknowledgements").values(row).execute();
    },
  };
}

export function firing(id: string, more: Partial<Incident> = {}): Incident {
  const heldSince = { ms: 0, polls: 0 };
  return {
    id,
    rule: "server-error",
    ruleFingerprint: "1",
    severity: "critical",
    receivers: ["am"],
    owed: [],
    inhibitedBy: null,
    subject: { kind: "server", sandboxId: "sandbox-1", serverId: `of-${id}`, serverName: "github" },
    phase: { name: "firing", heldSince, clearSinceMs: null, notifiedAtMs: 0, flapping: false },
    status: "error",
    previousStatus: "occupied",
    startedAtMs: startMs,
    firedAtMs: startMs,
    resolvedAtMs: null,
    ...more,
  };
}

export function resolved(id: string, resolvedAtMs: number, more: Partial<Incident> = {}): Incident {
  return firing(id, { phase: { name: "resolved", reason: "recovered" }, resolvedAtMs, ...more });
}
