import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { systemClock } from "../platform/clock.ts";
import { contentSchema } from "../simulator/content.ts";
import { faultsSchema } from "../simulator/faults.ts";
import { createSimulator } from "../simulator/simulator.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { asListenFault } from "./listen-fault.ts";
import type { Terminal } from "./terminal.ts";
import { untilStopped } from "./signals.ts";

export interface SimulateOptions {
  readonly regions: readonly string[];
  readonly keys: number;
  /** In each listing. */
  readonly servers: number;
  readonly seed: number;
  readonly pace: number;
  readonly faults?: string;
  /** A file with what regions hold. */
  readonly data?: string;
  readonly host: string;
  readonly port: number;
}

/** The simulated service alone, until a signal ends it. */
export async function simulate(options: SimulateOptions, terminal: Terminal): Promise<void> {
  const keys = simulatedKeys(options.keys);
  const simulator = createSimulator({
    ...options,
    keys,
    clock: systemClock,
    faults: options.faults === undefined ? [] : readFile("faults", options.faults, faultsSchema),
    content: options.data === undefined ? {} : readContent(options.data, options.regions),
  });
  const stopped = untilStopped();
  const { host, port } = options;
  try {
    const addresses = await simulator.listen({ host, port });
    terminal.out(describe(addresses, keys));
    await stopped;
  } catch (error) {
    throw asListenFault(error, { host, port }, "--host or --port");
  } finally {
    await simulator.close();
  }
}

/** Keys of the simulated service: they open nothing else, so they may be shown. */
export function simulatedKeys(count: number): readonly { name: string; apiKey: string }[] {
  const names = ["research", "production"];
  return Array.from({ length: count }, (_, index) => {
    const name = names[index] ?? `key-${index + 1}`;
    return { name, apiKey: `simulated-${name}` };
  });
}

function readContent(file: string, regions: readonly string[]) {
  const content = readFile("data", file, contentSchema);
  const unknown = Object.keys(content).filter((region) => !regions.includes(region));
  if (unknown.length === 0) return content;
  throw new CommandError(
    `The data in ${file} cannot be used: there is no region ${unknown.join(", ")}. There are ${regions.join(", ")}: add it with --regions.`,
    exitCodes.wrongUse,
  );
}

function readFile<Schema extends z.ZodType>(
  what: string,
  file: string,
  schema: Schema,
): z.output<Schema> {
  try {
    return schema.parse(parse(readFileSync(file, "utf8")));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new CommandError(`The ${what} in ${file} cannot be used:\n${why}`, exitCodes.wrongUse);
  }
}

/** Ready to be pasted into a configuration. */
function describe(
  addresses: ReadonlyMap<string, string>,
  keys: readonly { name: string; apiKey: string }[],
): string {
  const regionLines = Array.from(addresses, ([name, url]) => `  ${name}: { base_url: "${url}" }`);
  const keyLines = keys.map(({ name, apiKey }) => `  - { name: ${name}, api_key: ${apiKey} }`);
  return [
    "# The simulated service is running; Ctrl-C stops it. A configuration for it:",
    "regions:",
    ...regionLines,
    "keys:",
    ...keyLines,
    "# What it answers is described at",
    ...Array.from(addresses.values(), (url) => `#   ${url}/openapi.json`),
    "",
  ].join("\n");
}
