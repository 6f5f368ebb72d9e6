import type { Incident } from "../../../src/alerts/incident.ts";
import type { OutboxItem } from "../../../src/alerts/notification.ts";
import { notifiedIncident } from "../../../src/alerts/incident.ts";
import { createStore, type Store } from "../../../src/store/store.ts";
import { research } from "../../support/fleet.ts";
import { startMs } from "./items.ts";
import { sqlite } from "../../store/support/engines.ts";
import type { Engine } from "../../store/support/engines.ts";
import { addTarget } from "../../support/add-target.ts";

export interface ToldStore {
  readonly store: Store;
  /** Writes incidents as a poll does, each with an item for each of its receivers. */
  readonly commit: (...incidents: readonly Incident[]) => Promise<void>;
  /** Does the same with items in other words. */
  readonly commitAs: (
    words: Partial<OutboxItem>,
    ...incidents: readonly Incident[]
  ) => Promise<void>;
  readonly acknowledge: (incidentId: string, author: string) => Promise<void>;
  /** Forgets every item, as a store does in which they have become too old. */
  readonly forgetItems: () => Promise<void>;
}

export async function openToldStore(
  more: Partial<OutboxItem> = {},
  engine: Engine = sqlite,
): Promise<ToldStore> {
  const { kysely } = await engine.open();
  const store = createStore(kysely, () => Promise.resolve());
  const { id: targetId } = await addTarget(store, research);
  const itemsOf = (incident: Incident, words: Partial<OutboxItem>): OutboxItem[] =>
    incident.receivers.map((receiver) => ({
      receiver,
      type: incident.resolvedAtMs === null ? "incident.firing" : "incident.resolved",
      rule: incident.rule,
      severity: incident.severity,
      condition: "in error",
      summaryTemplate: null,
      runbookUrlTemplate: null,
      causedAtMs: startMs,
      ...words,
      incident: notifiedIncident(research, incident, null),
    }));
  const commitAs: ToldStore["commitAs"] = async (words, ...written) => {
    const outbox = written.flatMap((incident) => itemsOf(incident, words));
    await store.commitIncidents(targetId, { written, dropped: [], flaps: [], steps: [], outbox });
  };
  return {
    store,
    commit: (...written) => commitAs(more, ...written),
    commitAs,
    async acknowledge(incidentId, author) {
      const row = { incident_id: incidentId, author, note: null, at_ms: startMs, notified: 1 };
      await kysely.insertInto("acknowledgements").values(row).execute();
    },
    async forgetItems() {
      await kysely.deleteFrom("outbox_items").execute();
    },
  };
}

export function firing(id: string, more: Partial<Incident> = {}): Incident {
  return {
    id,
    rule: "server-error",
    ruleFingerprint: "1",
    severity: "critical",
    receivers: ["am"],
    subject: { kind: "server", sandboxId: "sandbox-1", serverId: `of-${id}`, serverName: "github" },
    phase: {
      name: "firing",
      heldSince: { ms: 0, polls: 0 },
      clearSinceMs: null,
      notifiedAtMs: 0,
      flapping: false,
    },
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
