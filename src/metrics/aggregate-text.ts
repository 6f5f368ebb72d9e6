import type { Metric, Registry } from "prom-client";
import {
  bucketBoundText,
  escapeLabelValue,
  familyHeader,
  numberText,
  withoutTotal,
} from "./exposition-text.ts";
import type { ExpositionSyntax } from "./exposition-text.ts";

/** A family's samples at one moment: the registry's own go on counting. */
export interface CollectedFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
  /** One for each sample. */
  readonly values: Float64Array;
}

type Sample = Awaited<ReturnType<Metric["get"]>>["values"][number];

/** Names of a registry's families, each as a whole: that of a counter ends in `_total`. */
export function familyNames(registry: Registry): readonly string[] {
  return registry.getMetricsAsArray().map(({ name }) => name);
}

/** Collects only the families of these names, all at the same moment. */
export function collectFamilies(
  registry: Registry,
  isWanted: (name: string) => boolean,
): Promise<readonly CollectedFamily[]> {
  const metrics = familyNames(registry)
    .filter(isWanted)
    .flatMap((name) => registry.getSingleMetric(name) ?? []);
  return Promise.all(
    metrics.map(async (metric) => {
      const { name, help, type, values } = await metric.get();
      return {
        name,
        help,
        type: String(type),
        samples: values,
        values: Float64Array.from(values, ({ value }) => value),
      };
    }),
  );
}

/**
 * The family line by line. The registry's own OpenMetrics renames the counters for good, so that no
 * scrape after it could have them as text.
 */
export function* familyLines(family: CollectedFamily, syntax: ExpositionSyntax): Iterable<string> {
  const { name, help, type, samples, values } = family;
  yield familyHeader(syntax, name, help, type);
  const ownName =
    syntax === "openmetrics" && type === "counter" ? `${withoutTotal(name)}_total` : name;
  for (const [index, sample] of samples.entries()) {
    const labels = Object.entries(sample.labels).map(
      ([label, value]) => `${label}="${labelText(label, value, syntax)}"`,
    );
    const list = labels.length > 0 ? `{${labels.join(",")}}` : "";
    yield `${sampleName(sample) ?? ownName}${list} ${numberText(values[index] ?? Number.NaN)}\n`;
  }
}

function labelText(
  label: string,
  value: string | number | undefined,
  syntax: ExpositionSyntax,
): string {
  if (typeof value === "number" && label === "le") return bucketBoundText(syntax, value);
  return escapeLabelValue(String(value));
}

/** Samples of a histogram have names of their own, which the types do not know. */
function sampleName(sample: object): string | null {
  return "metricName" in sample && typeof sample.metricName === "string" ? sample.metricName : null;
}
