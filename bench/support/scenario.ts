import { z } from "zod";

export const measurementSchema = z.object({
  what: z.string(),
  unit: z.string(),
  samples: z.array(z.number()),
  /** What the value is held against, in words, such as "JSON.parse". */
  floor: z.string().optional(),
  floorUnit: z.string().optional(),
  floorSamples: z.array(z.number()).optional(),
  /** The promise: the median is to be at most this, or at least where `atLeast` says so. */
  target: z.number().optional(),
  atLeast: z.boolean().optional(),
  /** Where it stands on a plot. */
  plot: z
    .object({ plot: z.string(), series: z.string(), x: z.number(), isFloor: z.boolean() })
    .optional(),
});

/** One row of the table. Without samples: it could not be measured, as the daemon does not offer it. */
export type Measurement = z.infer<typeof measurementSchema>;

export interface Scenario {
  readonly name: string;
  /** In how many processes it is run, one after the other. */
  readonly rounds: { readonly full: number; readonly quick: number };
  /** Where the defaults do not do: for parsing the largest listing whole, or to be as the program is. */
  readonly nodeArguments?: readonly string[];
  /**
   * Runs in a process of its own, which is the daemon's too.
   *
   * @throws {Error} when the daemon does not do what it is measured at
   */
  run(options: ScenarioOptions): Promise<readonly Measurement[]>;
}

export interface ScenarioOptions {
  readonly quick: boolean;
}
