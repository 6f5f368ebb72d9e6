/** Panels by their types. The state timeline and the heatmap, which are in no package of Grafana, are drawn here. */
import { createElement as h, Fragment } from "react";
import { interpolateBlues, interpolateRdYlGn } from "d3-scale-chromatic";
import {
  createTheme,
  dateTimeFormat,
  formattedValueToString,
  getDisplayValueAlignmentFactors,
  getFieldDisplayName,
  getFieldDisplayValues,
  getValueFormat,
} from "@grafana/data";
import { BarGauge, BigValue, TimeSeries, VizRepeater } from "@grafana/ui";
import { TableNG } from "@grafana/ui/unstable";

export const theme = createTheme({ colors: { mode: "light" } });
export const timeZone = "utc";
export const replaceVariables = (text) => text;

export const valueFields = (data) =>
  data.flatMap((frame) =>
    frame.fields
      .filter(({ type }) => type === "number")
      .map((field) => ({ frame, field, name: getFieldDisplayName(field, frame, data) })),
  );

const timesOf = ({ fields }) => fields.find(({ type }) => type === "time");

function Values({ panel, data, width, height, render }) {
  const { options, fieldConfig } = panel;
  const getValues = () =>
    getFieldDisplayValues({
      fieldConfig,
      reduceOptions: options.reduceOptions,
      replaceVariables,
      theme,
      data,
      timeZone,
    });
  return h(VizRepeater, {
    getValues,
    getAlignmentFactors: getDisplayValueAlignmentFactors,
    renderValue: render,
    width,
    height,
    source: data,
    autoGrid: true,
    itemSpacing: 3,
    renderCounter: 0,
    orientation: options.orientation,
    minVizHeight: options.minVizHeight,
    maxVizHeight: options.maxVizHeight,
  });
}

const Stat = (props) =>
  h(Values, {
    ...props,
    render: ({ value, count, width, height, alignmentFactors }) =>
      h(BigValue, {
        ...props.panel.options,
        value: value.display,
        count,
        width,
        height,
        alignmentFactors,
        theme,
      }),
  });

const Bars = (props) =>
  h(Values, {
    ...props,
    render: ({ value, width, height, orientation, alignmentFactors }) => {
      const { field, display, view, colIndex } = value;
      return h(BarGauge, {
        ...props.panel.options,
        value: display,
        field,
        display: view?.getFieldDisplayProcessor(colIndex ?? 0),
        itemSpacing: 8,
        width,
        height,
        orientation,
        alignmentFactors,
        theme,
      });
    },
  });

const Lines = ({ panel, data, width, height, range }) =>
  h(TimeSeries, {
    frames: data,
    structureRev: 1,
    timeRange: range,
    timeZone,
    width,
    height,
    legend: panel.options.legend,
    options: panel.options,
  });

const Table = ({ panel, data, width, height }) =>
  h(TableNG, {
    data: data[0],
    width,
    height,
    noHeader: false,
    cellHeight: panel.options.cellHeight,
    noValue: panel.fieldConfig.defaults.noValue,
    fieldConfig: panel.fieldConfig,
    enableVirtualization: false,
  });

const text = (props, content) =>
  h("text", { fontSize: 12, fill: theme.colors.text.primary, ...props }, content);

/** Names at the left, times at the bottom, and between them what `draw` draws. */
function Plot({ names, width, height, range, draw }) {
  const longest = Math.max(...names.map((name) => name.length), 0);
  const left = Math.min(longest * 7.2 + 12, width / 2);
  const bottom = 22;
  const line = (height - bottom) / names.length;
  const [from, to] = [range.from.valueOf(), range.to.valueOf()];
  const x = (time) => left + ((time - from) / (to - from)) * (width - left);
  const ticks = Array.from({ length: 7 }, (_, index) => from + ((to - from) * index) / 6);
  const format = to - from > 2 * 86_400_000 ? "MM/DD" : "HH:mm";
  return h(
    "svg",
    { width, height },
    h("clipPath", { id: "plot" }, h("rect", { x: left, y: 0, width: width - left, height })),
    names.map((name, index) =>
      text({ key: name, x: left - 6, y: (index + 0.5) * line + 4, textAnchor: "end" }, name),
    ),
    h("g", { clipPath: "url(#plot)" }, draw({ x, line })),
    ticks.slice(1, -1).map((time) =>
      text(
        {
          key: time,
          x: x(time),
          y: height - 5,
          textAnchor: "middle",
          fill: theme.colors.text.secondary,
        },
        dateTimeFormat(time, { format, timeZone }),
      ),
    ),
  );
}

/** Values that follow one another and are shown alike are one band. */
function bandsOf({ frame, field }) {
  const { values: times, config } = timesOf(frame);
  const bands = [];
  for (const [index, value] of field.values.entries()) {
    const time = times[index];
    const { text: shown, color } = field.display(value);
    const last = bands.at(-1);
    if (last && last.shown === shown && time <= last.to) last.to = time + config.interval;
    else bands.push({ from: time, to: time + config.interval, shown, color });
  }
  return bands;
}

function Timeline({ panel, data, width, height, range }) {
  const rows = valueFields(data).slice(0, panel.options.perPage);
  const draw = ({ x, line }) =>
    rows.map((row, index) =>
      bandsOf(row).map(({ from, to, shown, color }) =>
        h(
          Fragment,
          { key: `${index}/${from}` },
          h("rect", {
            x: x(from),
            width: x(to) - x(from),
            y: (index + 0.05) * line,
            height: line * 0.9,
            fill: color,
            fillOpacity: 0.7,
          }),
          panel.options.showValue !== "never" &&
            x(to) - x(from) > shown.length * 8 &&
            text({ x: x(from) + 3, y: (index + 0.5) * line + 4 }, shown),
        ),
      ),
    );
  return h(Plot, { names: rows.map(({ name }) => name), width, height, range, draw });
}

const schemes = { Blues: interpolateBlues, RdYlGn: interpolateRdYlGn };

/** A line of cells for each field, the first at the bottom. */
function Heatmap({ panel, data, width, height, range }) {
  const { color, filterValues, yAxis } = panel.options;
  const rows = valueFields(data).toReversed();
  const all = rows.flatMap(({ field }) => field.values).filter((value) => value !== null);
  const [min, max] = [color.min ?? Math.min(...all), color.max ?? Math.max(...all)];
  const colourOf = (value) => {
    const share = (value - min) / (max - min);
    return schemes[color.scheme](color.reverse ? 1 - share : share);
  };
  const format = getValueFormat(yAxis?.unit);
  const nameOf = ({ field, name }) =>
    yAxis?.unit && Number.isFinite(Number(field.name))
      ? formattedValueToString(format(Number(field.name)))
      : name;
  const draw = ({ x, line }) =>
    rows.map(({ frame, field }, index) => {
      const { values: times, config } = timesOf(frame);
      return field.values.map((value, at) => {
        if (value === null || value <= (filterValues?.le ?? -Infinity)) return null;
        const [from, to] = [x(times[at]), x(times[at] + config.interval)];
        return h("rect", {
          key: `${index}/${at}`,
          x: from,
          width: Math.max(1, to - from - 1),
          y: index * line,
          height: line - 1,
          fill: colourOf(value),
        });
      });
    });
  return h(Plot, { names: rows.map(nameOf), width, height, range, draw });
}

export const kinds = {
  stat: Stat,
  bargauge: Bars,
  timeseries: Lines,
  table: Table,
  "state-timeline": Timeline,
  heatmap: Heatmap,
};
