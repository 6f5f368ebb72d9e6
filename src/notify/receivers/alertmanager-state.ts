import { batches, paced } from "../../platform/paced.ts";
import type { AlertWords, ToldAlert, ToldAlerts } from "../told-alerts.ts";
import { labelsOf } from "./alertmanager-alert.ts";

/** An alert with what was last said of it; null: nothing of that is kept. */
export interface WordedAlert {
  readonly alert: ToldAlert;
  readonly words: AlertWords | null;
}

/** An alert that is over is posted so long, for instances that were away when it ended. */
const resolvedForMs = 15 * 60_000;

const wordsAtOnce = 500;

/**
 * What a receiver's Alertmanagers must know now.
 *
 * @param about only the alerts of these incidents, as they stand now: where the next incident of the
 *   same rule and subject has taken an alert over, it is that one's
 */
export async function readAlerts(
  toldAlerts: ToldAlerts,
  receiver: string,
  nowMs: number,
  about: ReadonlySet<string> | "all" = "all",
): Promise<readonly WordedAlert[]> {
  const asked = about === "all" ? about : [...about];
  const alerts = await toldAlerts.toldTo(receiver, nowMs - resolvedForMs, asked);
  const keys =
    about === "all" ? null : keysOf(alerts.filter((each) => about.has(each.incident.id)));
  const wanted = [...latestAlerts(alerts)].filter(([key]) => keys?.has(key) ?? true);
  const worded: WordedAlert[] = [];
  for await (const some of paced(batches(wanted, wordsAtOnce))) {
    const ids = some.map(([, { incident }]) => incident.id);
    const words = await toldAlerts.wordsOf(receiver, ids);
    for (const [, alert] of some) {
      worded.push({ alert, words: words.get(alert.incident.id) ?? null });
    }
  }
  return worded;
}

/**
 * One alert of each set of labels: what fires goes before what is over, and of several that are over
 * the latest stands.
 */
function latestAlerts(alerts: readonly ToldAlert[]): ReadonlyMap<string, ToldAlert> {
  const latest = new Map<string, ToldAlert>();
  for (const alert of alerts) {
    const key = keyOf(alert);
    const known = latest.get(key);
    if (!known || endOf(alert) >= endOf(known)) latest.set(key, alert);
  }
  return latest;
}

function keysOf(alerts: readonly ToldAlert[]): ReadonlySet<string> {
  return new Set(alerts.map(keyOf));
}

function keyOf(alert: ToldAlert): string {
  return JSON.stringify(labelsOf(alert));
}

function endOf({ incident }: ToldAlert): number {
  return incident.resolvedAtMs ?? Infinity;
}
