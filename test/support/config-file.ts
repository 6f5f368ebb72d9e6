import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "./temp-folder.ts";

/** A configuration of one target whose service is never reached, and its store, which is not there yet. */
export function writeConfig(apiKey = "not-a-real-key"): {
  readonly config: string;
  readonly store: string;
} {
  const folder = tempFolder();
  const config = join(folder, "sandwatch.yaml");
  const store = join(folder, "sandwatch.db");
  writeFileSync(
    config,
    `
      regions: { us: { base_url: "http://127.0.0.1:1" } }
      keys: [{ name: research, api_key: ${apiKey} }]
      store: { path: ${store} }
      http: { listen: "127.0.0.1:0" }
    `,
  );
  return { config, store };
}
