import type { Builder, Dataquery } from "@grafana/grafana-foundation-sdk/cog";
import type { DataSourceRef, VizTooltipOptions } from "@grafana/grafana-foundation-sdk/common";
import {
  ReduceDataOptionsBuilder,
  SortOrder,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
} from "@grafana/grafana-foundation-sdk/common";
import type { Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import { target } from "./queries.ts";
import type { Query } from "./queries.ts";
import { dataSource } from "./variables.ts";

/** What every panel has. */
export interface About {
  readonly title: string;
  /** What the panel shows, and why it may be empty. */
  readonly description: string;
  /** The id of one of Grafana's units. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** In columns of the grid, which has 24. */
  readonly width: number;
  /** In lines of the grid. */
  readonly height?: number;
  /** How far apart its points are at least, such as `1m`. */
  readonly interval?: string;
}

export interface SizedPanel {
  readonly panel: Panel;
  readonly width: number;
  readonly height: number;
}

/** What the builders of all panels have in common. */
interface AnyPanelBuilder extends Builder<Panel> {
  title(title: string): this;
  description(description: string): this;
  unit(unit: string): this;
  datasource(datasource: DataSourceRef): this;
  targets(targets: Builder<Dataquery>[]): this;
  interval(interval: string): this;
}

const usualHeight = 8;

export function sized(builder: AnyPanelBuilder, about: About): SizedPanel {
  builder
    .title(about.title)
    .description(about.description)
    .unit(about.unit)
    .datasource(dataSource)
    .targets(about.queries.map(target));
  if (about.interval !== undefined) builder.interval(about.interval);
  return { panel: builder.build(), width: about.width, height: about.height ?? usualHeight };
}

export function latest(): ReduceDataOptionsBuilder {
  return new ReduceDataOptionsBuilder().calcs(["lastNotNull"]);
}

export function legend(): VizLegendOptionsBuilder {
  return new VizLegendOptionsBuilder().showLegend(true);
}

/** All series at once, the greatest value first. */
export function tooltip(): Builder<VizTooltipOptions> {
  return { build: () => ({ mode: TooltipDisplayMode.Multi, sort: SortOrder.Descending }) };
}
