import {
  HeatmapColorMode,
  HeatmapColorOptionsBuilder,
  PanelBuilder as HeatmapBuilder,
  YAxisConfigBuilder,
} from "@grafana/grafana-foundation-sdk/heatmap";
import { sized } from "./about.ts";
import type { About, SizedPanel } from "./about.ts";

/** How often which of a histogram's buckets was met, over time. The unit is that of its bounds. */
export function histogram(about: About): SizedPanel {
  const builder = new HeatmapBuilder()
    .calculate(false)
    .color(colours("Blues"))
    .yAxis(new YAxisConfigBuilder().unit(about.unit));
  return sized(builder, about);
}

/**
 * A line of cells for each query, of shares between none and all.
 *
 * @param since how far back, whatever the dashboard's time range, such as `14d`
 */
export function shares(about: About, since: string): SizedPanel {
  const builder = new HeatmapBuilder()
    .calculate(false)
    .color(colours("RdYlGn").reverse(true).min(0).max(1))
    // None is shown too: a cell that is lacking was not watched.
    .filterValues({ build: () => ({}) })
    .cellValues({ build: () => ({ unit: about.unit, decimals: 0 }) })
    .timeFrom(since);
  return sized(builder, about);
}

function colours(scheme: string): HeatmapColorOptionsBuilder {
  return new HeatmapColorOptionsBuilder()
    .mode(HeatmapColorMode.Scheme)
    .scheme(scheme)
    .fill("dark-blue")
    .exponent(0.5)
    .steps(64)
    .reverse(false);
}
