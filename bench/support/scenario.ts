import type { Measurement } from "./row.ts";

export interface Scenario {
  readonly name: string;
  /** @throws {Error} when the daemon does not do what it is measured at */
  run(options: { readonly quick: boolean }): Promise<readonly Measurement[]>;
}
