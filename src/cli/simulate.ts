import { readFileSync } from "node:fs";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import { parse } from "yaml";
import { z } from "zod";
import { systemClock } from "../lib/clock.ts";
import { contentSchema } from "../simulator/lookup-data.ts";
import { faultsSchema, type FullFault } from "../simulator/faults.ts";
import { createSimulator } from "../simulator/simulator.ts";
import type { SimulatorOptions } from "../simulator/simulator.ts";
import { wrongUse } from "./exit-codes.ts";
import { asListenFault, readPort, seedOption, wholeNumber } from "./options.ts";
import type { Terminal } from "./terminal.ts";
import { untilStopped } from "./signals.ts";

interface SimulateOptions extends Pick<SimulatorOptions, "seed" | "regions" | "servers"> {
  readonly keys: number;
  readonly pace: number;
  readonly faults?: string;
  readonly data?: string;
  readonly host: string;
  readonly port: number;
}

export function addSimulate(program: Command, terminal: Terminal): void {
  program
    .command("simulate")
    .description("run the simulated service only")
    .option("--regions <names>", "names of regions, separated by commas", readNames, ["us", "eu"])
    .option("--keys <n>", "number of API keys", wholeNumber(1), 2)
    .option("--servers <n>", "servers in each listing", wholeNumber(0), 60)
    .addOption(seedOption())
    .option("--pace <factor>", "how many times faster statuses change; 0: never", readPace, 1)
    .addOption(faultsOption())
    .option("--data <file>", "content of the regions, in YAML or JSON (default: generated)")
    .option("--host <address>", "address to listen on; :: for every interface", "127.0.0.1")
    .option("--port <port>", "port to listen on; 0 chooses a free port", readPort, 9750)
    .action((options: SimulateOptions) => simulate(options, terminal));
}

function readPace(text: string): number {
  const pace = Number(text);
  if (text.trim() !== "" && pace >= 0 && pace <= 1_000) return pace;
  throw new InvalidArgumentError("It must be a number from 0 to 1000.");
}

function readNames(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.every((name) => /^[A-Za-z0-9_.-]+$/.test(name))) return [...new Set(names)];
  throw new InvalidArgumentError("Names are letters, digits, _ . - and separated by commas.");
}

/** Runs until a signal ends it. */
async function simulate(options: SimulateOptions, terminal: Terminal): Promise<void> {
  const { regions, host, port } = options;
  const keys = simulatedKeys(options.keys);
  const ofRegions = contentSchema.refine(
    (given) => Object.keys(given).every((region) => regions.includes(region)),
    `allowed: the regions of --regions: ${regions.join(", ")}`,
  );
  const faults = readFaults(options.faults);
  const content = options.data === undefined ? {} : readFile(options.data, ofRegions);
  const simulator = createSimulator({ ...options, keys, clock: systemClock, faults, content });
  const stopped = untilStopped();
  try {
    const addresses = await simulator.listen({ host, port });
    terminal.out(describe(addresses, keys));
    await stopped;
  } catch (error) {
    throw asListenFault(error, "--host/--port");
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

export function faultsOption(): Option {
  return new Option("--faults <file>", "faults to inject, in YAML or JSON");
}

export function readFaults(file: string | undefined): readonly FullFault[] {
  return file === undefined ? [] : readFile(file, faultsSchema);
}

function readFile<Schema extends z.ZodType>(file: string, schema: Schema): z.output<Schema> {
  try {
    return schema.parse(parse(readFileSync(file, "utf8")));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw wrongUse(`${file} cannot be used:\n${why}`);
  }
}

/** Ready to be pasted into a configuration. */
function describe(
  addresses: ReadonlyMap<string, string>,
  keys: readonly { name: string; apiKey: string }[],
): string {
  const lines = [
    "# The simulated service is running; Ctrl-C stops it. A configuration for it:",
    "regions:",
    ...Array.from(addresses, ([name, url]) => `  ${name}: { base_url: "${url}" }`),
    "keys:",
    ...keys.map(({ name, apiKey }) => `  - { name: ${name}, api_key: ${apiKey} }`),
    "# Its interface is described at",
    ...Array.from(addresses.values(), (url) => `#   ${url}/openapi.json`),
  ];
  return `${lines.join("\n")}\n`;
}
