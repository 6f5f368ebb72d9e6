import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { resolveReferences } from "../../src/config/environment.ts";
import { signingSecret } from "./support.ts";

export const configFolder = join(import.meta.dirname, "../../config");

/** The variables that the example names. */
export const exampleEnvironment = {
  US_BASE_URL: "https://us.example.com",
  EU_BASE_URL: "https://eu.example.com",
  RESEARCH_API_KEY: "k1",
  ONCALL_WEBHOOK_URL: "https://hooks.example.com/x",
  ONCALL_WEBHOOK_SECRET: signingSecret,
  SLACK_WEBHOOK_URL: "https://slack.example.com/x",
  PAGERDUTY_ROUTING_KEY: "0123456789abcdef0123456789abcdef",
  HEARTBEAT_URL: "https://heartbeat.example.com/x",
};

/** The example with every setting, its variables replaced. */
export function wholeExample(): unknown {
  const text = readFileSync(join(configFolder, "sandwatch.example.yaml"), "utf8");
  return resolveReferences(parse(text), exampleEnvironment, configFolder).value;
}

export type Place = readonly (string | number)[];

/** Where anything stands in a value: itself, and all within. */
export function placesIn(value: unknown, place: Place = []): readonly Place[] {
  if (Array.isArray(value)) {
    return [place, ...value.flatMap((item, index) => placesIn(item, [...place, index]))];
  }
  if (typeof value !== "object" || value === null) return [place];
  return [
    place,
    ...Object.entries(value).flatMap(([name, part]) => placesIn(part, [...place, name])),
  ];
}

/** The value with something else at the place; undefined: with nothing there. */
export function withAt(value: unknown, place: Place, change: unknown): unknown {
  const [first, ...rest] = place;
  if (first === undefined) return change;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) =>
      index === first ? withAt(item, rest, change) : item,
    );
    return rest.length === 0 && change === undefined ? items.toSpliced(Number(first), 1) : items;
  }
  const entries = new Map<string, unknown>(Object.entries(value ?? {}));
  const changed = withAt(entries.get(String(first)), rest, change);
  if (changed === undefined) entries.delete(String(first));
  else entries.set(String(first), changed);
  return Object.fromEntries(entries);
}
