import { shareText } from "../../reports/quantities.ts";
import { weekdays } from "../../reports/calendar-cells.ts";
import { html, table, type Html } from "../html.ts";
import { heatmap, weekOf, type HourOccupancy } from "./report-charts.ts";

/** How occupied servers were, hour by weekday. */
export function hoursCard(
  hours: readonly HourOccupancy[],
  { tz, hasTable }: { readonly tz: string; readonly hasTable: boolean },
): Html {
  const week = weekOf(hours);
  const all = week.flatMap((day, weekday) =>
    day.flatMap((share, hour) => (share === null ? [] : [{ weekday, hour, share }])),
  );
  const busiest = all.reduce((most, each) => (each.share > most.share ? each : most), {
    weekday: 0,
    hour: 0,
    share: -1,
  });
  const text =
    busiest.share < 0
      ? "Nothing was observed in the last four weeks."
      : `Busiest: ${weekdays[busiest.weekday] ?? ""} ${twoDigits(busiest.hour)}:00, ${shareText(busiest.share)} occupied.`;
  return html`<section class="card" id="hours" data-live>
    <div class="head">
      <h2>Busiest hours, last 4 weeks</h2>
      <span class="quiet">${tz}</span>
    </div>
    ${heatmap(hours)}
    <p class="quiet">${text}</p>
    ${hasTable ? valuesTable(week) : ""}
  </section>`;
}

function valuesTable(week: ReturnType<typeof weekOf>): Html {
  return html`<details id="hours-values">
    <summary>Values as a table</summary>
    <div class="scroll">
      ${table(
        Array.from({ length: 24 }, (_, hour) => hour),
        [
          { head: "hour", isHead: true, cell: (hour) => `${twoDigits(hour)}:00` },
          ...weekdays.map((head, day) => ({
            head,
            isNumber: true,
            cell: (hour: number) => shareText(week[day]?.[hour] ?? null),
          })),
        ],
      )}
    </div>
  </details>`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
