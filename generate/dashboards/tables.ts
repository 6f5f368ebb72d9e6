import type { DashboardLink } from "@grafana/grafana-foundation-sdk/dashboard";
import { PanelBuilder as TableBuilder } from "@grafana/grafana-foundation-sdk/table";
import { sized } from "./about.ts";
import type { About, SizedPanel } from "./about.ts";
import { byLimits, limits } from "./panels.ts";
import type { Limits } from "./panels.ts";
import { refId } from "./queries.ts";

/**
 * A row for each series, a column for each label and query.
 *
 * @param how.values the heads of the queries' columns
 * @param how.links where the column of a label leads to
 */
export function table(
  about: About,
  how: {
    readonly values: readonly string[];
    readonly links?: Readonly<Record<string, DashboardLink>>;
    readonly limits?: Limits;
    readonly none: string;
  },
): SizedPanel {
  const builder = new TableBuilder()
    .colorScheme(byLimits())
    .thresholds(limits("text", how.limits ?? []))
    .noValue(how.none)
    .withTransformation({ id: "merge", options: {} })
    .withTransformation({ id: "organize", options: { excludeByName: { Time: true } } });
  for (const [index, head] of how.values.entries()) {
    // Grafana names the column of a single query without its letter.
    const name = how.values.length === 1 ? "Value" : `Value #${refId(index)}`;
    builder.overrideByName(name, [{ id: "displayName", value: head }]);
  }
  for (const [label, link] of Object.entries(how.links ?? {})) {
    builder.overrideByName(label, [{ id: "links", value: [link] }]);
  }
  return sized(builder, about);
}
