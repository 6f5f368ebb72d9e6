import {
  BarGaugeDisplayMode,
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  GraphDrawStyle,
  StackingConfigBuilder,
  StackingMode,
  VisibilityMode,
  VizOrientation,
} from "@grafana/grafana-foundation-sdk/common";
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
import { PanelBuilder as StatBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as StateTimelineBuilder } from "@grafana/grafana-foundation-sdk/statetimeline";
import { PanelBuilder as TimeSeriesBuilder } from "@grafana/grafana-foundation-sdk/timeseries";
import { statuses } from "../../src/fleet/model.ts";
import { latest, legend, sized, tooltip } from "./about.ts";
import type { About, SizedPanel } from "./about.ts";
import { statusColours } from "./colours.ts";

/** From which value on which colour, beside one for all below. */
export type Limits = readonly (readonly [from: number, colour: string])[];

export function limits(below: string, others: Limits): ThresholdsConfigBuilder {
  const steps: Threshold[] = others.map(([value, color]) => ({ value, color }));
  return new ThresholdsConfigBuilder()
    .mode(ThresholdsMode.Absolute)
    .steps([{ value: null, color: below }, ...steps]);
}

export function byLimits(): FieldColorBuilder {
  return new FieldColorBuilder().mode(FieldColorModeId.Thresholds);
}

/** One number. */
export function stat(
  about: About,
  how: {
    readonly limits?: Limits;
    readonly mapping?: ValueMapping;
    /** Instead of no number. */
    readonly none?: string;
    /** Whether the legend is shown instead of the number. */
    readonly asName?: boolean;
  } = {},
): SizedPanel {
  const builder = new StatBuilder()
    .reduceOptions(latest())
    .graphMode(BigValueGraphMode.None)
    .colorMode(how.mapping ? BigValueColorMode.Background : BigValueColorMode.Value)
    .textMode(how.asName ? BigValueTextMode.Name : BigValueTextMode.Value)
    .colorScheme(byLimits())
    .thresholds(limits("text", how.limits ?? []))
    .mappings(how.mapping ? [how.mapping] : [])
    .noValue(how.none ?? "not seen");
  return sized(builder, { height: 4, ...about });
}

/** Lines over time. */
export function lines(
  about: About,
  how: {
    /** Whether the series are the statuses, and so have their colours. */
    readonly byStatus?: boolean;
    readonly stacked?: boolean;
    /** Whether values are shares, shown from none to all. */
    readonly share?: boolean;
    /** Whether a value is of the time since the one before, rather than of a moment. */
    readonly bars?: boolean;
  } = {},
): SizedPanel {
  const builder = new TimeSeriesBuilder()
    .legend(legend())
    .tooltip(tooltip())
    .drawStyle(how.bars ? GraphDrawStyle.Bars : GraphDrawStyle.Line)
    .lineWidth(1)
    .fillOpacity(how.bars ? 80 : how.stacked ? 40 : 5)
    .showPoints(VisibilityMode.Never)
    .axisSoftMin(0);
  if (how.share) builder.min(0).max(1);
  if (how.stacked) builder.stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
  if (how.byStatus)
    for (const [name, properties] of statusOverrides()) {
      builder.overrideByName(name, properties);
    }
  return sized(builder, about);
}

/** What something was, over time: a band for each series. */
export function timeline(
  about: About,
  how: {
    readonly mapping?: ValueMapping;
    readonly limits?: Limits;
    readonly links?: readonly DashboardLink[];
    readonly none?: string;
  },
): SizedPanel {
  const builder = new StateTimelineBuilder()
    .legend(legend().showLegend(false))
    .tooltip(tooltip())
    .showValue(how.mapping ? VisibilityMode.Never : VisibilityMode.Auto)
    .colorScheme(byLimits())
    .thresholds(limits("transparent", how.limits ?? []))
    .mappings(how.mapping ? [how.mapping] : [])
    .dataLinks((how.links ?? []).map((link) => ({ build: () => link })));
  if (how.none !== undefined) builder.noValue(how.none);
  return sized(builder, about);
}

/** A bar for each series. */
export function bars(
  about: About,
  how: {
    readonly byStatus?: boolean;
    readonly share?: boolean;
    readonly limits?: Limits;
    readonly none?: string;
  } = {},
): SizedPanel {
  const builder = new BarGaugeBuilder()
    .reduceOptions(latest())
    .orientation(VizOrientation.Horizontal)
    .displayMode(BarGaugeDisplayMode.Basic)
    .colorScheme(byLimits())
    .thresholds(limits("text", how.limits ?? []))
    .min(0);
  if (how.share) builder.max(1);
  if (how.none !== undefined) builder.noValue(how.none);
  if (how.byStatus)
    for (const [name, properties] of statusOverrides()) {
      builder.overrideByName(name, properties);
    }
  return sized(builder, about);
}

function statusOverrides(): readonly (readonly [name: string, DynamicConfigValue[]])[] {
  return statuses.map((status) => {
    const value = { mode: FieldColorModeId.Fixed, fixedColor: statusColours[status] };
    return [status, [{ id: "color", value }]] as const;
  });
}
