import type { Path } from "./faults.ts";
import type { Mention } from "./issue-findings.ts";

export function mention(value: string | undefined, ...path: Path): Mention {
  return { value, path };
}

/** A single text stands at the path itself, those of a list below it. */
export function mentions(
  values: string | readonly (string | undefined)[] | undefined,
  path: Path,
): Mention[] {
  if (typeof values === "string") return [{ value: values, path }];
  return (values ?? []).map((value, index) => ({ value, path: [...path, index] }));
}

/** Whether it is a name rather than a pattern of names. */
export function isPlain({ value }: Mention): boolean {
  return value !== undefined && !value.includes("*");
}

/** Undefined allows all, as in a rule. */
export function asPatterns(
  values: string | readonly (string | undefined)[] | undefined,
): readonly string[] | undefined {
  const patterns = [values ?? []].flat().filter((each) => each !== undefined);
  return patterns.length === 0 ? undefined : patterns;
}
