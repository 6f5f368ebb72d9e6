import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "./temp-folder.ts";

/**
 * A configuration file of one target whose service cannot be reached, and the path of its store, which does not
 * exist yet.
 *
 * @param changed replaces settings as a whole
 */
export function writeConfig(
  changed: object = {},
  folder: string = tempFolder(),
): { readonly config: string; readonly store: string; readonly settings: object } {
  const config = join(folder, "sandwatch.yaml");
  const store = join(folder, "sandwatch.db");
  const settings = {
    regions: { us: { base_url: "http://127.0.0.1:1" } },
    keys: [{ name: "research", api_key: "simulated-T0PSECRET" }],
    store: { path: store },
    http: { listen: "127.0.0.1:0" },
    ...changed,
  };
  // JSON is YAML.
  writeFileSync(config, JSON.stringify(settings));
  return { config, store, settings };
}
