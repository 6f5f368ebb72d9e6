import type { Target } from "../fleet/model.ts";
import type { Config } from "./config.ts";

/** Every key in each of its regions. */
export function configuredTargets({ keys }: Pick<Config, "keys">): readonly Target[] {
  return keys.flatMap(({ name, regions }) => regions.map((region) => ({ region, key: name })));
}
