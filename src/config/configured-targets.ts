import type { Target } from "../fleet/model.ts";

interface Key {
  readonly name: string;
  readonly regions: readonly string[];
}

/** Every key in each of its regions. */
export function configuredTargets({ keys }: { readonly keys: readonly Key[] }): readonly Target[] {
  return keys.flatMap(({ name, regions }) => regions.map((region) => ({ region, key: name })));
}
