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
 * @param how.columns the columns at the left, by label or head, with their widths in pixels; null: as wide as fits
 * @param how.links where the column of a label leads to
 */
export function table(
  about: About,
  how: {
    readonly values: readonly string[];
    readonly columns: Readonly<Record<string, number | null>>;
    readonly links?: Readonly<Record<string, DashboardLink>>;
    readonly limits?: Limits;
    readonly none: string;
  },
): SizedPanel {
  // Grafana names the column of a single query without its letter.
  const fieldOf = (index: number): string =>
    how.values.length === 1 ? "Value" : `Value #${refId(index)}`;
  const renameByName = Object.fromEntries(
    how.values.map((head, index) => [fieldOf(index), head] as const),
  );
  const indexByName = Object.fromEntries(
    Object.keys(how.columns).map((column, index) => {
      const value = how.values.indexOf(column);
      return [value === -1 ? column : fieldOf(value), index] as const;
    }),
  );
  const builder = new TableBuilder()
    .colorScheme(byLimits())
    .thresholds(limits("text", how.limits ?? []))
    .noValue(how.none)
    .withTransformation({ id: "merge", options: {} })
    .withTransformation({
      id: "organize",
      options: { excludeByName: { Time: true }, indexByName, renameByName },
    })
    // Otherwise columns beyond the width of the panel are hidden.
    .minWidth(50);
  for (const [column, width] of Object.entries(how.columns)) {
    if (width !== null) builder.overrideByName(column, [{ id: "custom.width", value: width }]);
  }
  for (const [label, link] of Object.entries(how.links ?? {})) {
    builder.overrideByName(label, [{ id: "links", value: [link] }]);
  }
  return sized(builder, about);
}
