import type { RowView } from "../../api/operations/occupancy.ts";
import { weekdays } from "../../reports/calendar-cells.ts";
import { shareText } from "../../reports/quantities.ts";
import { html, type Html } from "../html.ts";

/** As many as fit side by side on a phone. */
const mostLabels = 6;

export function swatch(key: string, text: string): Html {
  return html`<span class="swatch"><span class="key ${key}-key"></span>${text}</span> `;
}

/** Shapes fill their box at any width, so texts are beside them: they would be stretched with them. */
export function dailyChart(days: readonly RowView[]): Html {
  const points = days.map(({ occupied_share: share }) =>
    share === null ? null : ((1 - share) * 100).toFixed(2),
  );
  // Where a day was not observed, the line is broken. A day alone is a dot.
  const line = points
    .map((y, day) => {
      if (y === null) return "";
      const isJoined = day > 0 && points[day - 1] !== null;
      return `${isJoined ? "L" : "M"}${day + 0.5} ${y}${isJoined ? "" : "h0.001"}`;
    })
    .join("");
  const grid = [0, 25, 50, 75, 100].map(
    (y) => html`<line class="grid" x1="0" x2="${days.length}" y1="${y}" y2="${y}" />`,
  );
  const slots = days.map((row, day) => {
    const height = (row.unobserved_share ?? 0) * 100;
    const text = `${row.day ?? ""}: ${shareText(row.occupied_share)} occupied, ${shareText(row.unobserved_share)} unobserved`;
    return html`<g
      ><title>${text}</title><rect class="slot" x="${day}" width="1" height="100" /><rect
        class="unobserved"
        x="${day}"
        width="1"
        height="${height.toFixed(2)}"
    /></g>`;
  });
  const step = Math.ceil(days.length / mostLabels);
  const labels = days.flatMap(({ day = "" }, at) => {
    const middle = (((at + 0.5) / days.length) * 100).toFixed(2);
    return at % step === 0 ? html`<span style="left: ${middle}%">${day.slice(5)}</span>` : [];
  });
  return html`<figure class="plot">
    <div class="y"><span>100%</span><span>50%</span><span>0%</span></div>
    <svg
      viewBox="0 0 ${days.length} 100"
      preserveAspectRatio="none"
      role="img"
      aria-label="Occupied share of each day"
    >
      ${grid} ${slots}
      <path class="line" d="${line}" />
    </svg>
    <div class="x days">${labels}</div>
    <figcaption>${swatch("line", "occupied")} ${swatch("unobserved", "unobserved")}</figcaption>
  </figure>`;
}

const hoursOfDay = 24;

/** Server time of an hour. */
export interface HourOccupancy {
  /** 0 is Monday. */
  readonly weekday: number;
  readonly hour: number;
  readonly occupied: number;
  readonly observed: number;
}

/** @param row by hour: with the local date and hour */
export function hourOf({ hour: label = "", ...row }: RowView): HourOccupancy {
  return {
    weekday: (new Date(label.slice(0, 10)).getUTCDay() + 6) % weekdays.length,
    hour: Number(label.slice(11, 13)),
    occupied: row.occupied_seconds,
    observed: row.occupied_seconds + row.idle_seconds + row.error_seconds + row.unknown_seconds,
  };
}

/** The occupied share of each hour of the week; null: it was not observed. */
export function weekOf(hours: readonly HourOccupancy[]): readonly (readonly (number | null)[])[] {
  const cells = weekdays.map(() =>
    Array.from({ length: hoursOfDay }, () => ({ occupied: 0, observed: 0 })),
  );
  for (const { weekday, hour, occupied, observed } of hours) {
    const cell = cells[weekday]?.[hour];
    if (!cell) continue;
    cell.occupied += occupied;
    cell.observed += observed;
  }
  return cells.map((ofDay) =>
    ofDay.map(({ occupied, observed }) => (observed > 0 ? occupied / observed : null)),
  );
}

/** In shares of its size, so that the pattern of what is unobserved keeps its own. */
function percent(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`;
}

export function heatmap(hours: readonly HourOccupancy[]): Html {
  const cells = weekOf(hours);
  const most = Math.max(0, ...cells.flat().map((share) => share ?? 0));
  const rects = cells.flatMap((ofDay, day) =>
    ofDay.map((share, hour) => {
      const text = `${weekdays[day] ?? ""} ${String(hour).padStart(2, "0")}:00: ${
        share === null ? "unobserved" : `${shareText(share)} occupied`
      }`;
      const opacity = share === null || most === 0 ? 0 : share / most;
      // Paler than that it could not be distinguished from nothing.
      const opaque = html`fill-opacity="${Math.max(0.07, opacity).toFixed(2)}"`;
      return html`<rect
        ${share === null ? html`class="cell none"` : html`class="cell" ${opaque}`}
        x="${percent((hour + 0.04) / hoursOfDay)}"
        y="${percent((day + 0.04) / weekdays.length)}"
        width="${percent(0.92 / hoursOfDay)}"
        height="${percent(0.92 / weekdays.length)}"
        ><title>${text}</title></rect
      >`;
    }),
  );
  return html`<figure class="plot heatmap">
    <div class="y">${weekdays.map((day) => html`<span>${day}</span>`)}</div>
    <svg role="img" aria-label="Occupied share by hour and weekday">${rects}</svg>
    <div class="x">${["00", "06", "12", "18", "24"].map((hour) => html`<span>${hour}</span>`)}</div>
    <figcaption>
      ${swatch("scale", `0% to ${shareText(most)} occupied`)} ${swatch("unobserved", "unobserved")}
    </figcaption>
  </figure>`;
}

/** The servers that were occupied on average and at most, of all that there were. */
export function headroomBar({ occupied_average, occupied_peak, servers_peak }: RowView): Html {
  const whole = Math.max(servers_peak ?? 0, occupied_peak ?? 0);
  const widthOf = (count: number | null): string =>
    whole === 0 ? "0" : (((count ?? 0) / whole) * 100).toFixed(2);
  return html`<svg
    class="bar"
    viewBox="0 0 100 10"
    preserveAspectRatio="none"
    role="img"
    aria-label="Occupied of all servers"
  >
    <rect class="free" width="100" height="10" />
    <rect class="peak" width="${widthOf(occupied_peak)}" height="10" />
    <rect class="average" width="${widthOf(occupied_average)}" height="10" />
  </svg>`;
}
