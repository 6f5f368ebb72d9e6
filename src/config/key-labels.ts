import type { Labels, LabelsOf } from "../alerts/notification.ts";
import type { Config } from "./config.ts";

/** The labels of what is about a key, or about several. */
export function keyLabels({ keys, alerts }: Pick<Config, "keys" | "alerts">): LabelsOf {
  const ofKeys = new Map(keys.map(({ name, labels }) => [name, Object.fromEntries(labels)]));
  const ofAll: Labels = Object.fromEntries(alerts.labels);
  return (key) => (key === null ? ofAll : (ofKeys.get(key) ?? ofAll));
}
