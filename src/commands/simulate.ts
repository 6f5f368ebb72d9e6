import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { systemClock } from "../platform/clock.ts";
import { faultsSchema } from "../simulator/faults.ts";
import type { Fault } from "../simulator/faults.ts";
import { createSimulator } from "../simulator/simulator.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { asListenFault } from "./listen-fault.ts";
import type { Terminal } from "./terminal.ts";
import { untilStopped } from "./until-stopped.ts";

export interface SimulateOptions {
  readonly regions: readonly string[];
  readonly keys: number;
  /** In each listing. */
  readonly servers: number;
  readonly seed: number;
  readonly pace: number;
  readonly faults?: string;
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
    faults: options.faults === undefined ? [] : readFaults(options.faults),
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

function readFaults(file: string): readonly Fault[] {
  try {
    return faultsSchema.parse(parse(readFileSync(file, "utf8")));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new CommandError(`The faults in ${file} cannot be used:\n${why}`, exitCodes.wrongUse);
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
    "",
  ].join("\n");
}
