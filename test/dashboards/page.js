/**
 * Draws the panels of a dashboard with the packages of Grafana's front end. It is bundled by grafana-page.ts, with packages
 * that are installed for it alone, so it is not type-checked.
 */
import { createElement as h } from "react";
import { createRoot } from "react-dom/client";
import {
  applyFieldOverrides,
  dateTime,
  standardFieldConfigEditorRegistry,
  standardTransformers,
  standardTransformersRegistry,
  ThemeContext,
  toDataFrame,
  transformDataFrame,
} from "@grafana/data";
import { initPluginTranslations } from "@grafana/i18n";
import gridStyles from "@grafana/react-data-grid/lib/styles.css";
import { lastValueFrom } from "rxjs";
import plotStyles from "uplot/dist/uPlot.min.css";
import { kinds, replaceVariables, theme, timeZone, valueFields } from "./panels.js";

const [cell, gap, columns, header] = [30, 8, 24, 32];

// Only what the dashboards set. In Grafana each has an editor, which is no part of its packages.
standardFieldConfigEditorRegistry.setInit(() =>
  [
    "unit",
    "min",
    "max",
    "decimals",
    "displayName",
    "noValue",
    "color",
    "mappings",
    "thresholds",
    "links",
    "custom.width",
  ].map((id) => ({
    id,
    path: id.replace("custom.", ""),
    isCustom: id.startsWith("custom."),
    name: id,
    process: (value) => value,
    shouldApply: () => true,
  })),
);
standardTransformersRegistry.setInit(() =>
  [standardTransformers.mergeTransformer, standardTransformers.organizeFieldsTransformer].map(
    (transformer) => ({
      id: transformer.id,
      name: transformer.id,
      transformation: async () => transformer,
    }),
  ),
);

/** Frames with the panel's transformations and field configuration. */
async function prepare(panel, frames) {
  const { overrides } = panel.fieldConfig;
  // The default of panels that draw series.
  const defaults = { color: { mode: "palette-classic" }, ...panel.fieldConfig.defaults };
  const transformed = await lastValueFrom(
    transformDataFrame(
      panel.transformations ?? [],
      frames.map((frame) => toDataFrame(frame)),
    ),
  );
  const data = applyFieldOverrides({
    data: transformed,
    fieldConfig: structuredClone({ defaults, overrides }),
    replaceVariables,
    theme,
    timeZone,
  });
  for (const { fields } of data) {
    for (const field of fields) {
      field.config.custom = { ...structuredClone(defaults.custom), ...field.config.custom };
    }
  }
  return data;
}

function Panel({ panel, data, range }) {
  const { x, y, w, h: lines } = panel.gridPos;
  const wide = (document.body.clientWidth + gap) / columns;
  const [width, height] = [w * wide - gap, lines * (cell + gap) - gap];
  const isEmpty = !valueFields(data).some(({ field }) =>
    field.values.some((value) => value !== null),
  );
  const inner = { width: width - 18, height: height - header - 10 };
  return h(
    "article",
    {
      "data-panel": panel.id,
      "data-empty": isEmpty,
      style: {
        position: "absolute",
        left: x * wide,
        top: y * (cell + gap),
        width,
        height,
        boxSizing: "border-box",
        border: `1px solid ${theme.colors.border.weak}`,
        background: theme.colors.background.primary,
        borderRadius: 3,
        overflow: "hidden",
      },
    },
    h(
      "div",
      {
        style: {
          height: header,
          lineHeight: `${header}px`,
          padding: "0 8px",
          fontWeight: 500,
          whiteSpace: "nowrap",
        },
      },
      panel.title,
    ),
    h(
      "div",
      { style: { boxSizing: "content-box", padding: "0 8px", ...inner } },
      isEmpty && panel.type !== "stat"
        ? h(
            "div",
            { style: { textAlign: "center", color: theme.colors.text.secondary } },
            panel.fieldConfig.defaults.noValue ?? "No data",
          )
        : h(kinds[panel.type], { panel, data, range, ...inner }),
    ),
  );
}

/** Draws a row of a dashboard in place of what was drawn before. */
globalThis.draw = async (title, drawn) => {
  const top = Math.min(...drawn.map(({ panel }) => panel.gridPos.y));
  const panels = await Promise.all(
    drawn.map(async ({ panel, frames, range: { from, to } }) => ({
      panel: { ...panel, gridPos: { ...panel.gridPos, y: panel.gridPos.y - top } },
      data: await prepare(panel, frames),
      range: { from: dateTime(from * 1_000), to: dateTime(to * 1_000), raw: { from: "", to: "" } },
    })),
  );
  const lines = Math.max(...panels.map(({ panel: { gridPos } }) => gridPos.y + gridPos.h));
  root.render(
    h(
      ThemeContext.Provider,
      { value: theme },
      h("h1", { style: { fontSize: 15, margin: "8px 0" } }, title),
      h(
        "main",
        { key: title, style: { position: "relative", height: lines * (cell + gap) } },
        panels.map((each) => h(Panel, { key: each.panel.id, ...each })),
      ),
    ),
  );
};

const container = document.createElement("div");
document.body.append(container);
const root = createRoot(container, { onUncaughtError: (error) => reportError(error) });
const styles = document.createElement("style");
styles.textContent = `* { box-sizing: border-box } ${gridStyles} ${plotStyles}`;
document.head.append(styles);
Object.assign(document.body.style, {
  background: theme.colors.background.canvas,
  color: theme.colors.text.primary,
  fontFamily: theme.typography.fontFamily,
  fontSize: "14px",
});
await initPluginTranslations("grafana");
document.title = "ready";
