import type { Target } from "../fleet/model.ts";
import type { Labels, LabelsOf } from "../alerts/notification.ts";

interface Key {
  readonly name: string;
  readonly regions: readonly string[];
}

/** Every key in each of its regions. */
export function configuredTargets({ keys }: { readonly keys: readonly Key[] }): readonly Target[] {
  return keys.flatMap(({ name, regions }) => regions.map((region) => ({ region, key: name })));
}

/** The labels of what is about a key, or about several. */
export function keyLabels({
  keys,
  alerts,
}: {
  readonly keys: readonly { readonly name: string; readonly labels: Iterable<[string, string]> }[];
  readonly alerts: { readonly labels: Iterable<[string, string]> };
}): LabelsOf {
  const ofKeys = new Map(keys.map(({ name, labels }) => [name, Object.fromEntries(labels)]));
  const ofAll: Labels = Object.fromEntries(alerts.labels);
  return (key) => (key === null ? ofAll : (ofKeys.get(key) ?? ofAll));
}
