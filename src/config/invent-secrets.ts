/** What stands for a setting that rules do not look at, by its name and the number of the item it is in. */
const invented = new Map<string, (index: number) => unknown>([
  ["base_url", () => "https://region.invalid"],
  ["api_key", (index) => `key-${index}`],
  ["url", () => "https://receiver.invalid/"],
  ["urls", () => ["https://receiver.invalid/"]],
  ["secret", () => `whsec_${Buffer.alloc(24).toString("base64")}`],
  ["routing_key", () => "0".repeat(32)],
  ["bearer_token", () => "invented"],
  // What a probe asks for and expects may come out of the environment.
  ["id", () => "invented"],
  ["expect", () => ({})],
]);

/**
 * A configuration with the same rules for the same targets and receivers, that can be read where no
 * secret is at hand: addresses and secrets, also those in files, are made up. What is not a mapping
 * where one belongs is left as it is, for the schema to refuse.
 */
export function inventSecrets(content: unknown): unknown {
  if (!isMapping(content)) return content;
  const { regions, keys, probes, alerts } = Object.fromEntries(Object.entries(content));
  return {
    ...content,
    ...(isMapping(regions) && { regions: mapValues(regions, inventIn) }),
    ...(Array.isArray(keys) && { keys: keys.map(inventIn) }),
    ...(Array.isArray(probes) && { probes: probes.map(inventIn) }),
    ...(isMapping(alerts) && {
      alerts: mapValues(alerts, (part, name) =>
        name === "receivers" && Array.isArray(part) ? part.map(inventIn) : part,
      ),
    }),
  };
}

function inventIn(item: unknown, index: unknown): unknown {
  if (!isMapping(item)) return item;
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => {
      const setting = name.replace(/_file$/, "");
      const invent = invented.get(setting);
      return invent ? [setting, invent(Number(index))] : [name, value];
    }),
  );
}

function mapValues(mapping: object, map: (value: unknown, name: string) => unknown): unknown {
  return Object.fromEntries(
    Object.entries(mapping).map(([name, value]) => [name, map(value, name)]),
  );
}

function isMapping(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
