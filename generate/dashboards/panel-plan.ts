import type { Builder, Dataquery } from "@grafana/grafana-foundation-sdk/cog";
import type { DataSourceRef } from "@grafana/grafana-foundation-sdk/common";
import type { Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder, PromQueryFormat } from "@grafana/grafana-foundation-sdk/prometheus";
import { dataSource } from "./variables.ts";

/** What the builders of all panels have in common. */
interface AnyPanelBuilder extends Builder<Panel> {
  title(title: string): this;
  description(description: string): this;
  unit(unit: string): this;
  datasource(datasource: DataSourceRef): this;
  targets(targets: Builder<Dataquery>[]): this;
  interval(interval: string): this;
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** What a panel calls one of its queries, of which there are at most 26. */
export function refId(index: number): string {
  return alphabet.charAt(index);
}

/** One panel, described step by step. */
export class PanelPlan<How extends object = object> {
  private readonly create: (how: Partial<How>) => AnyPanelBuilder;
  private readonly title: string;
  private readonly unit: string;
  private readonly queries: DataqueryBuilder[] = [];
  private how: Partial<How> = {};
  private description = "";
  private interval: string | null = null;
  /** In columns of the grid, which has 24. */
  readonly width: number;
  /** In lines of the grid. */
  height: number;

  constructor(
    create: (how: Partial<How>) => AnyPanelBuilder,
    [title, unit, width]: Head,
    height: number,
  ) {
    this.create = create;
    this.title = title;
    this.unit = unit;
    this.width = width;
    this.height = height;
  }

  /** @param description what the panel shows, and why it may be empty */
  about(description: string): this {
    this.description = description;
    return this;
  }

  high(height: number): this {
    this.height = height;
    return this;
  }

  /** @param interval how far apart its points are at least, such as `1m` */
  every(interval: string): this {
    this.interval = interval;
    return this;
  }

  as(how: Partial<How>): this {
    this.how = how;
    return this;
  }

  /** Queries the whole time range. */
  over(expr: string, legend: string): this {
    return this.ask(expr, (query) => query.range().legendFormat(legend));
  }

  /** Queries the end of the time range. */
  atEnd(expr: string, legend: string): this {
    return this.ask(expr, (query) => query.instant().legendFormat(legend));
  }

  /** Queries the end of the time range, for a column of each label. */
  rows(expr: string): this {
    return this.ask(expr, (query) => query.instant().format(PromQueryFormat.Table));
  }

  /** Queries a histogram's buckets over the whole time range. */
  buckets(expr: string): this {
    return this.ask(expr, (query) =>
      query.range().format(PromQueryFormat.Heatmap).legendFormat("{{le}}"),
    );
  }

  private ask(expr: string, prepare: (query: DataqueryBuilder) => DataqueryBuilder): this {
    const query = new DataqueryBuilder().refId(refId(this.queries.length));
    this.queries.push(prepare(query.datasource(dataSource).expr(expr)));
    return this;
  }

  build(): Panel {
    const builder = this.create(this.how)
      .title(this.title)
      .description(this.description)
      .unit(this.unit)
      .datasource(dataSource)
      .targets(this.queries);
    if (this.interval !== null) builder.interval(this.interval);
    return builder.build();
  }
}

/** The unit is the id of one of Grafana's. */
type Head = readonly [title: string, unit: string, width: number];

/** A kind of panels, by how one is made. */
export function kind<How extends object>(
  create: (how: Partial<How>) => AnyPanelBuilder,
  height = 8,
): (...head: Head) => PanelPlan<How> {
  return (...head) => new PanelPlan(create, head, height);
}
