/** What stands in a receiver for a secret that is not needed. */
const invented = new Map<string, unknown>([
  ["url", "https://receiver.invalid/"],
  ["urls", ["https://receiver.invalid/"]],
  ["secret", `whsec_${Buffer.alloc(24).toString("base64")}`],
  ["routing_key", "0".repeat(32)],
  ["bearer_token", "invented"],
]);

/** What a probe asks for and expects may come out of the environment, and no rule looks at it. */
const ofProbes = new Map<string, unknown>([
  ["id", "invented"],
  ["expect", {}],
]);

/**
 * A configuration with the same rules for the same targets and receivers, that can be read where no
 * secret is at hand: addresses and secrets, also those in files, are made up. What is not a mapping
 * where one belongs is left as it is, for the schema to complain of.
 */
export function inventSecrets(content: unknown): unknown {
  return withPart(content, {
    regions: (regions) =>
      mapValues(regions, (region) =>
        withPart(region, { base_url: () => "https://region.invalid" }),
      ),
    keys: (keys) =>
      mapItems(keys, (key, index) => inventIn(key, new Map([["api_key", `key-${index}`]]))),
    probes: (probes) => mapItems(probes, (probe) => inventIn(probe, ofProbes)),
    alerts: (alerts) =>
      withPart(alerts, {
        receivers: (receivers) => mapItems(receivers, (receiver) => inventIn(receiver, invented)),
      }),
  });
}

/** Replaces what is there, by itself or as the file that holds it. */
function inventIn(mapping: unknown, secrets: ReadonlyMap<string, unknown>): unknown {
  if (!isMapping(mapping)) return mapping;
  return Object.fromEntries(
    Object.entries(mapping).map(([name, value]) => {
      const setting = name.replace(/_file$/, "");
      return secrets.has(setting) ? [setting, secrets.get(setting)] : [name, value];
    }),
  );
}

function withPart(
  mapping: unknown,
  parts: Readonly<Record<string, (part: unknown) => unknown>>,
): unknown {
  return isMapping(mapping)
    ? Object.fromEntries(
        Object.entries(mapping).map(([name, part]) => [
          name,
          Object.hasOwn(parts, name) ? parts[name]?.(part) : part,
        ]),
      )
    : mapping;
}

function mapValues(mapping: unknown, map: (value: unknown) => unknown): unknown {
  return isMapping(mapping)
    ? Object.fromEntries(Object.entries(mapping).map(([name, value]) => [name, map(value)]))
    : mapping;
}

function mapItems(list: unknown, map: (item: unknown, index: number) => unknown): unknown {
  return Array.isArray(list) ? list.map(map) : list;
}

function isMapping(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
