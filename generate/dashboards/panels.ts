import type { Builder } from "@grafana/grafana-foundation-sdk/cog";
import {
  BarGaugeDisplayMode,
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  GraphDrawStyle,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizOrientation,
} from "@grafana/grafana-foundation-sdk/common";
import type { VizTooltipOptions } from "@grafana/grafana-foundation-sdk/common";
import { PanelBuilder as BarGaugeBuilder } from "@grafana/grafana-foundation-sdk/bargauge";
import {
  FieldColorBuilder,
  FieldColorModeId,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from "@grafana/grafana-foundation-sdk/dashboard";
import type {
  DashboardLink,
  DynamicConfigValue,
  Threshold,
  ValueMapping,
} from "@grafana/grafana-foundation-sdk/dashboard";
import {
  HeatmapColorMode,
  HeatmapColorOptionsBuilder,
  PanelBuilder as HeatmapBuilder,
  YAxisConfigBuilder,
} from "@grafana/grafana-foundation-sdk/heatmap";
import { PanelBuilder as StatBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as StateTimelineBuilder } from "@grafana/grafana-foundation-sdk/statetimeline";
import { PanelBuilder as TimeSeriesBuilder } from "@grafana/grafana-foundation-sdk/timeseries";
import { statuses } from "../../src/fleet/model.ts";
import { statusColours } from "./colours.ts";
import { kind } from "./panel-plan.ts";

/** From which value on which colour, beside one for all below. */
export type Limits = readonly (readonly [from: number, colour: string])[];

export function limits(below: string, others: Limits = []): ThresholdsConfigBuilder {
  const steps: Threshold[] = others.map(([value, color]) => ({ value, color }));
  return new ThresholdsConfigBuilder()
    .mode(ThresholdsMode.Absolute)
    .steps([{ value: null, color: below }, ...steps]);
}

export function byLimits(): FieldColorBuilder {
  return new FieldColorBuilder().mode(FieldColorModeId.Thresholds);
}

const latest = () => new ReduceDataOptionsBuilder().calcs(["lastNotNull"]);
const legend = () => new VizLegendOptionsBuilder().showLegend(true);

/** All series at once, the greatest value first. */
const tooltip: Builder<VizTooltipOptions> = {
  build: () => ({ mode: TooltipDisplayMode.Multi, sort: SortOrder.Descending }),
};

interface Colours {
  readonly limits: Limits;
  readonly mapping: ValueMapping;
  /** Instead of no number. */
  readonly none: string;
}

interface StatHow extends Colours {
  /** Whether the legend is shown instead of the number. */
  readonly asName: boolean;
}

/** One number. */
export const stat = kind<StatHow>(
  ({ limits: given, mapping, none = "not seen", asName = false }) =>
    new StatBuilder()
      .reduceOptions(latest())
      .graphMode(BigValueGraphMode.None)
      .colorMode(mapping ? BigValueColorMode.Background : BigValueColorMode.Value)
      .textMode(asName ? BigValueTextMode.Name : BigValueTextMode.Value)
      .colorScheme(byLimits())
      .thresholds(limits("text", given))
      .mappings(mapping ? [mapping] : [])
      .noValue(none),
  4,
);

interface SeriesHow {
  /** Whether the series are the statuses, and so have their colours. */
  readonly byStatus: boolean;
  /** Whether values are shares, shown from none to all. */
  readonly share: boolean;
}

interface LinesHow extends SeriesHow {
  readonly stacked: boolean;
  /** Whether a value is of the time since the one before, rather than of a moment. */
  readonly bars: boolean;
}

/** Lines over time. */
export const lines = kind<LinesHow>((how) => {
  const builder = new TimeSeriesBuilder()
    .legend(legend())
    .tooltip(tooltip)
    .drawStyle(how.bars ? GraphDrawStyle.Bars : GraphDrawStyle.Line)
    .lineWidth(1)
    .fillOpacity(how.bars ? 80 : how.stacked ? 40 : 5)
    .showPoints(VisibilityMode.Never)
    .axisSoftMin(0);
  if (how.share) builder.min(0).max(1);
  if (how.stacked) builder.stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
  return how.byStatus ? withStatusColours(builder) : builder;
});

interface TimelineHow extends Colours {
  readonly links: readonly DashboardLink[];
}

/** What something was, over time: a band for each series. */
export const timeline = kind<TimelineHow>(({ mapping, links = [], none, ...how }) => {
  const builder = new StateTimelineBuilder()
    .legend(legend().showLegend(false))
    .tooltip(tooltip)
    .showValue(mapping ? VisibilityMode.Never : VisibilityMode.Auto)
    .colorScheme(byLimits())
    .thresholds(limits("transparent", how.limits))
    .mappings(mapping ? [mapping] : [])
    .dataLinks(links.map((link) => ({ build: () => link })));
  return none === undefined ? builder : builder.noValue(none);
});

/** A bar for each series. */
export const bars = kind<SeriesHow & Omit<Colours, "mapping">>((how) => {
  const builder = new BarGaugeBuilder()
    .reduceOptions(latest())
    .orientation(VizOrientation.Horizontal)
    .displayMode(BarGaugeDisplayMode.Basic)
    .colorScheme(byLimits())
    .thresholds(limits("text", how.limits))
    .min(0);
  if (how.share) builder.max(1);
  if (how.none !== undefined) builder.noValue(how.none);
  return how.byStatus ? withStatusColours(builder) : builder;
});

interface Overridable {
  overrideByName(name: string, properties: DynamicConfigValue[]): unknown;
}

function withStatusColours<Panel extends Overridable>(builder: Panel): Panel {
  for (const status of statuses) {
    const value = { mode: FieldColorModeId.Fixed, fixedColor: statusColours[status] };
    builder.overrideByName(status, [{ id: "color", value }]);
  }
  return builder;
}

function heatmap(scheme: string, colours: (builder: HeatmapColorOptionsBuilder) => void) {
  const options = new HeatmapColorOptionsBuilder()
    .mode(HeatmapColorMode.Scheme)
    .scheme(scheme)
    .fill("dark-blue")
    .exponent(0.5)
    .steps(64)
    .reverse(false);
  colours(options);
  return new HeatmapBuilder().calculate(false).color(options);
}

/** How often which of a histogram's buckets of seconds was met, over time. */
export const histogram = kind(() =>
  heatmap("Blues", () => {}).yAxis(new YAxisConfigBuilder().unit("s")),
);

/** A line of cells for each query, of shares between none and all. It looks 14 days back, whatever the time range. */
export const shares = kind(() =>
  heatmap("RdYlGn", (colours) => colours.reverse(true).min(0).max(1))
    // None is shown too: a cell that is lacking was not watched.
    .filterValues({ build: () => ({}) })
    .cellValues({ build: () => ({ unit: "percentunit", decimals: 0 }) })
    .timeFrom("14d"),
);
