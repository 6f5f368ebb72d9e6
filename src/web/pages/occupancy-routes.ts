import type { FastifyInstance } from "fastify";
import { asError } from "../../lib/as-error.ts";
import { BusyError } from "../../lib/refused-error.ts";
import type { ApiDeps } from "../api/api.ts";
import { ownerOf } from "../slow-readers.ts";
import { html, type Html } from "../html.ts";
import { htmlReport } from "./html-report.ts";
import { page, type PageAt } from "./layout.ts";
import { daysCard } from "./days-card.ts";
import { hoursCard } from "./hours-card.ts";
import { chartCard, emptyCard } from "./occupancy-card.ts";
import { createOccupancyData, soon } from "./occupancy-data.ts";
import { everything, readQuery, understand, unknownFields } from "./occupancy-query.ts";
import { pageRoutes, type PageDeps } from "./page-route.ts";
import { hatch } from "./status-bar.ts";

type OccupancyDeps = PageDeps & Pick<ApiDeps, "onError" | "takeTurn">;

/** The pages on how busy servers were. Gives the cards that the overview has of them. */
export function addOccupancy(
  server: FastifyInstance,
  { call, clock, onError, takeTurn }: OccupancyDeps,
) {
  // What cards show is shared by all who look at them.
  const data = createOccupancyData((...asked) => takeTurn("cards", () => call(...asked)));
  const { addSharedPage } = pageRoutes(server, clock);

  const cards = async (
    given: unknown,
    at: PageAt,
    { page: path, most, waitMs, faults, keys = [] }: CardsOptions,
  ): Promise<Html> => {
    const {
      query,
      found,
      faults: more,
    } = await understand(readQuery(given), (asked) => soon(data.series(asked, at.zone), waitMs));
    const tz = query.tz ?? at.zone;
    const chosen = path === "" ? { ...everything, key: keys, tz } : { ...query, tz };
    const [days, hours, choices] = await Promise.all([
      soon(data.days(chosen, tz, at.nowMs), waitMs),
      soon(data.hours(chosen, tz), waitMs),
      soon(data.choices(), waitMs),
    ]);
    const chart = found && {
      query,
      series: found,
      faults: [...faults, ...more],
      ...(choices ?? { regions: [], keys: [], names: [] }),
      tz,
    };
    const late = "A large history is being read. This takes up to a minute.";
    return html`${chart ? chartCard(chart, path) : emptyCard("occupancy", "Occupancy", late)}
      <div class="columns">
        ${days ? daysCard(days, { tz, most, isPart: chosen.serverName.length > 0 }) : emptyCard("days", "Last 90 days", late)}
        ${hours ? hoursCard(hours, { tz, hasTable: path !== "" }) : emptyCard("hours", "Busiest hours", late)}
      </div>`;
  };

  addSharedPage("/occupancy", async ({ query }, at) => {
    const options = { page: "occupancy", most: 30, waitMs: 5_000 } as const;
    const body = await cards(query, at, { ...options, faults: unknownFields(query) });
    return page(
      { title: "Occupancy", section: "Occupancy", modules: ["occupancy"], reloads: false, ...at },
      html`${hatch}
        <h1>Occupancy</h1>
        ${body}`,
    );
  });

  addSharedPage(
    "/report",
    async (request) => {
      const asked = { from: "30d", ...Object(request.query) };
      return (await takeTurn(ownerOf(request), () => htmlReport(call, asked))).text;
    },
    reportPolicy,
  );

  return async (given: unknown, at: PageAt, keys: readonly string[] | null): Promise<Html> => {
    const query = keys ? { ...Object(given), key: keys.join() } : given;
    try {
      const options = { page: "", most: 6, waitMs: 500, faults: [] } as const;
      return await cards(query, at, { ...options, ...(keys && { keys }) });
    } catch (error) {
      if (error instanceof BusyError) return emptyCard("occupancy", "Occupancy", error.message);
      // What is wrong at present is shown all the same.
      onError(asError(error));
      return emptyCard("occupancy", "Occupancy", "The history cannot be read: see the log.");
    }
  };
}

interface CardsOptions {
  readonly page: "" | "occupancy";
  /** Of targets with their days. */
  readonly most: number;
  /** For what has to be read. */
  readonly waitMs: number;
  /** Those that all cards of the overview are about. Default: all keys. */
  readonly keys?: readonly string[];
  /** What is wrong with the address. */
  readonly faults: readonly string[];
}

/** It is one file, also where it is served, with its style in it. */
const reportPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
