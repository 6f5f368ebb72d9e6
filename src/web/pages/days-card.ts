import { durationText, shareText } from "../../reports/quantities.ts";
import { html, type Html } from "../html.ts";
import { placeOf } from "./fleet-list.ts";
import { shownDays, type PlaceDays } from "./occupancy-data.ts";
import { addressQuery } from "./occupancy-query.ts";

const states = {
  ok: "fully observed, no error",
  error: "some error",
  partly: "partly unobserved",
  none: "nothing known",
} as const;
type DayState = keyof typeof states;
const dayStates: readonly DayState[] = ["ok", "error", "partly", "none"];

/** A few seconds are unobserved whenever sandwatch restarts. */
const fullCoverage = 0.99;
const dayWidth = 4;
const dayHeight = 24;

function stateOf({ coverage, error_seconds: error }: PlaceDays["days"][number]): DayState {
  if (coverage === null || coverage === 0) return "none";
  if (error > 0) return "error";
  return coverage < fullCoverage ? "partly" : "ok";
}

/** The share of observed server time that was not in error. Null: none was observed. */
export function availabilityOf({ days }: PlaceDays): number | null {
  let [error, observed] = [0, 0];
  for (const day of days) {
    error += day.error_seconds;
    observed += day.server_seconds - day.unobserved_seconds;
  }
  return observed > 0 ? 1 - error / observed : null;
}

/**
 * The observed time of the servers of all days, in seconds of the calendar. Time before the first poll is unobserved:
 * an availability of twenty minutes is not one of ninety days.
 */
export function observedSecondsOf({ days }: PlaceDays): number {
  const [all, unobserved] = days.reduce(
    ([server, without], day) => [server + day.server_seconds, without + day.unobserved_seconds],
    [0, 0],
  );
  return all > 0 ? (1 - unobserved / all) * days.length * 86_400 : 0;
}

interface DaysOptions {
  readonly tz: string;
  /** Further targets are only counted. */
  readonly most: number;
  /** Whether the rest of the page is of some server names only. */
  readonly isPart?: boolean;
}

/** A bar for each day, of the targets or regions that were the least available. */
export function daysCard(
  targets: readonly PlaceDays[],
  { tz, most, isPart = false }: DaysOptions,
): Html {
  const worst = targets
    .map((each) => ({ ...each, availability: availabilityOf(each) }))
    .toSorted((one, other) => (one.availability ?? 1) - (other.availability ?? 1));
  const further = worst.length - most;
  const rows = worst.slice(0, most).map(({ region, key, days, availability }) => {
    const shown = days.slice(-shownDays);
    const bars = shown.map((day, at) => {
      const state = stateOf(day);
      const date = day.day ?? "";
      const next = new Date(Date.parse(date) + 86_400_000).toISOString().slice(0, 10);
      const query = addressQuery({ from: date, to: next, region, key, tz });
      const share = state === "error" ? ` (${shareText(day.error_share)} of observed time)` : "";
      const x = (shownDays - shown.length + at) * dayWidth;
      return html`<a href="occupancy${query}" tabindex="${at === shown.length - 1 ? 0 : -1}"
        ><title>${date}: ${states[state]}${share}</title>${bar(
          state,
          x + 0.5,
          day.error_share ?? 0,
        )}</a
      >`;
    });
    const name = key === null ? region : `${region} / ${key}`;
    const percent = availability === null ? "–" : percentText(availability);
    const observed = observedSecondsOf({ region, key, days: shown });
    const of =
      observed >= fullCoverage * shown.length * 86_400
        ? ""
        : `of ${durationText(observed)} observed`;
    return html`<li>
      ${key === null ? html`<span>${region}</span>` : placeOf({ region, key })}
      <svg
        viewBox="0 0 ${shownDays * dayWidth} ${dayHeight}"
        preserveAspectRatio="none"
        role="group"
        aria-label="${name}: ${percent} available ${of}, day by day"
      >
        ${bars}
      </svg>
      <span class="percent">${percent}${of === "" ? "" : html` <small>${of}</small>`}</span>
    </li>`;
  });
  return html`<section class="card" id="days" data-live>
    <div class="head">
      <h2>Last ${shownDays} days</h2>
      <span class="quiet"
        >available: observed time without error${isPart ? ", of all server names" : ""}</span
      >
    </div>
    ${
      rows.length === 0
        ? html`<p class="quiet">No target was watched yet.</p>`
        : html`<ul class="days">
            ${rows}
          </ul>`
    }
    ${further > 0 ? html`<p class="quiet">and ${further} more, which were more available</p>` : ""}
    <p class="swatches">
      ${dayStates.map(
        (state) =>
          html`<span
            ><svg
              class="swatch"
              width="8"
              height="${dayHeight / 2}"
              viewBox="0 0 4 ${dayHeight}"
              preserveAspectRatio="none"
              aria-hidden="true"
            >
              ${bar(state, 0.5, 0.03)}</svg
            >${states[state]}</span
          > `,
      )}
    </p>
  </section>`;
}

/** Never distinguished by colour alone. Of an error a sixth of the bar is always visible. */
function bar(state: DayState, x: number, errorShare: number): Html {
  const part = (y: number, height: number, fill: Html): Html =>
    html`<rect x="${x}" width="${dayWidth - 1}" y="${y}" height="${height}" ${fill} />`;
  const ok = html`class="day ok"`;
  switch (state) {
    case "ok":
      return part(6, 18, ok);
    case "error": {
      const height = Math.max(dayHeight / 6, Math.round(dayHeight * errorShare));
      return html`${part(0, height, html`class="day error"`)}${part(height + 1, Math.max(0, dayHeight - 1 - height), ok)}`;
    }
    case "partly":
      return part(6, 18, html`fill="url(#unobserved)"`);
    case "none":
      return part(20, 4, html`class="day none"`);
  }
}

/** Never rounded up to 100 %. */
function percentText(share: number): string {
  const percent = Math.floor(share * 10_000) / 100;
  return `${share === 1 ? "100" : percent.toFixed(2)}%`;
}
