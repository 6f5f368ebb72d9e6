import type { Config } from "../../src/config/config.ts";
import { parseConfig } from "../../src/config/load-config.ts";

export function testConfig(settings: unknown): Config {
  const parsed = parseConfig(settings);
  if (parsed.kind === "ok") return parsed.config;
  throw new Error(JSON.stringify(parsed.faults));
}
