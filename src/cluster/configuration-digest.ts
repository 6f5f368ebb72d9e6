import { createHash } from "node:crypto";

interface Configuration {
  readonly cluster: { readonly address: string } | null;
}

/**
 * Equal for replicas whose configurations mean the same, whatever the order in which they are written. What each replica
 * has for itself is not part of it, nor is the store, which they share. A secret takes part as its mask.
 */
export function digestOf(configuration: Configuration): string {
  const { cluster } = configuration;
  const own = {
    store: null,
    http: null,
    log: null,
    cluster: cluster && { ...cluster, address: "" },
  };
  const text = JSON.stringify({ ...configuration, ...own }, inOrder);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries: Iterable<[unknown, unknown]> =
    value instanceof Map ? value : Object.entries(value);
  return Object.fromEntries(
    Array.from(entries, ([name, part]) => [String(name), part]).toSorted(([one], [other]) =>
      String(one) < String(other) ? -1 : 1,
    ),
  );
}
