import type { DashboardLink } from "@grafana/grafana-foundation-sdk/dashboard";
import { PanelBuilder as TableBuilder } from "@grafana/grafana-foundation-sdk/table";
import { kind, refId } from "./panel-plan.ts";
import { byLimits, limits } from "./panels.ts";
import type { Limits } from "./panels.ts";

interface TableHow {
  /** The heads of the queries' columns. */
  readonly values: readonly string[];
  /** The columns at the left, by label or head, with their widths in pixels; null: as wide as fits. */
  readonly columns: Readonly<Record<string, number | null>>;
  /** Where the column of a label leads to. */
  readonly links: Readonly<Record<string, DashboardLink>>;
  readonly limits: Limits;
  readonly none: string;
}

/** A row for each series, a column for each label and query. */
export const table = kind<TableHow>(({ values = [], columns = {}, links = {}, none, ...how }) => {
  // Grafana names the column of a single query without its letter.
  const fieldOf = (index: number): string =>
    values.length === 1 ? "Value" : `Value #${refId(index)}`;
  const renameByName = Object.fromEntries(
    values.map((head, index) => [fieldOf(index), head] as const),
  );
  const indexByName = Object.fromEntries(
    Object.keys(columns).map((column, index) => {
      const value = values.indexOf(column);
      return [value === -1 ? column : fieldOf(value), index] as const;
    }),
  );
  const builder = new TableBuilder()
    .colorScheme(byLimits())
    .thresholds(limits("text", how.limits))
    .noValue(none ?? "none")
    .withTransformation({ id: "merge", options: {} })
    .withTransformation({
      id: "organize",
      options: { excludeByName: { Time: true }, indexByName, renameByName },
    })
    // Otherwise columns beyond the width of the panel are hidden.
    .minWidth(50);
  for (const [column, width] of Object.entries(columns)) {
    if (width !== null) builder.overrideByName(column, [{ id: "custom.width", value: width }]);
  }
  for (const [label, link] of Object.entries(links)) {
    builder.overrideByName(label, [{ id: "links", value: [link] }]);
  }
  return builder;
});
