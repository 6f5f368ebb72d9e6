/** Placeholders for settings that rules do not use. */
const invented = new Map<string, unknown>([
  ["base_url", "https://region.invalid"],
  ["proxy_url", "http://proxy.invalid"],
  ["ca", undefined],
  ["url", "https://receiver.invalid/"],
  ["urls", ["https://receiver.invalid/"]],
  ["secret", `whsec_${Buffer.alloc(24).toString("base64")}`],
  ["routing_key", "0".repeat(32)],
  ["webhook_secret", "invented".repeat(2)],
  ["headers", {}],
  ["bearer_token", "invented"],
  ["bot_token", "1:invented"],
  ["token", "xoxb-invented"],
  ["app_token", "xapp-invented"],
  ["channel", "invented"],
  ["topic", "invented"],
  ["chat_id", 1],
  ["host", "receiver.invalid"],
  ["auth", { username: "invented", password: "invented" }],
  ["from", "invented@receiver.invalid"],
  ["to", ["invented@receiver.invalid"]],
  ["basic_auth", { username: "invented", password: "invented" }],
  // What a probe asks for and expects may come out of the environment.
  ["id", "invented"],
  ["expect", {}],
]);

const ofAddress: ReadonlySet<string> = new Set(["listen", "tls"]);

/**
 * A configuration with the same rules for the same targets and receivers, that can be read where no
 * secret is at hand: addresses and secrets, also those in files, are made up. What is not a mapping
 * where one belongs is left as it is, for the schema to refuse. Rules look at neither the HTTP server
 * nor the store.
 *
 * @param keepsAddress whether the address of the HTTP server is kept
 */
export function fillPlaceholderSecrets(content: unknown, keepsAddress = false): unknown {
  return mapParts(content, (part, section) => {
    if (section === "http" && keepsAddress) {
      // An address that others can reach needs `auth`, whose tokens are secrets.
      return mapParts(part, (value, name) =>
        name === "auth" ? "none" : ofAddress.has(name) ? value : undefined,
      );
    }
    if (section === "http" || section === "store") return undefined;
    if (section === "outbound") return inventIn(part, section);
    if (section === "alerts") {
      return mapParts(part, (list, name) => {
        if (name === "outbound") return inventIn(list, name);
        return name === "receivers" ? mapParts(list, inventIn) : list;
      });
    }
    return ["regions", "keys", "probes"].includes(section) ? mapParts(part, inventIn) : part;
  });
}

function inventIn(item: unknown, at: string): unknown {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => {
      const setting = name.replace(/_file$/, "");
      // No two keys may be the same.
      if (setting === "api_key") return [setting, `key-${at}`];
      return invented.has(setting) ? [setting, invented.get(setting)] : [name, value];
    }),
  );
}

/** A list or mapping with other items; any other value as it is. */
function mapParts(whole: unknown, map: (part: unknown, name: string) => unknown): unknown {
  if (Array.isArray(whole)) return whole.map((part, index) => map(part, String(index)));
  if (typeof whole !== "object" || whole === null) return whole;
  return Object.fromEntries(Object.entries(whole).map(([name, part]) => [name, map(part, name)]));
}
