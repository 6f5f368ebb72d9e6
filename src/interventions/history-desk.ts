import type { Clock } from "../platform/clock.ts";
import { firstOf } from "../platform/first-of.ts";
import { rangeOf as reportRangeOf } from "../reports/report-desk.ts";
import type { TimeContext, TimeRange } from "../reports/time-range.ts";
import type { Zone } from "../reports/zone.ts";
import { allTime } from "../store/change-history.ts";
import { unreadableNotes } from "../store/row-reading.ts";
import type { Store } from "../store/store.ts";
import type { Tables } from "../store/tables.ts";
import { changesQuery, incidentsQuery } from "./history-requests.ts";
import type { ChangesQuery, IncidentsQuery } from "./history-requests.ts";
import { viewChange } from "./history-views.ts";
import type { ChangesView, IncidentsView } from "./history-views.ts";
import type { NameNotes } from "./name-notes.ts";
import { placeText, readRequest } from "./requests.ts";
import { viewIncident } from "./views.ts";

/**
 * What people ask of what happened. A list is latest first; with `after` it is what came later than an
 * earlier answer, in the order in which it was kept.
 */
export interface HistoryDesk {
  changes(query: ChangesQuery): Promise<ChangesView>;
  incidents(query: IncidentsQuery): Promise<IncidentsView>;
}

export interface HistoryDeskDeps {
  readonly store: Pick<Store, "changes" | "incidents" | "unreadable">;
  readonly names: Pick<NameNotes, "ofMatch">;
  readonly clock: Clock;
}

export function createHistoryDesk({ store, names, clock }: HistoryDeskDeps): HistoryDesk {
  const unreadable = (tables: readonly (keyof Tables)[]): readonly string[] =>
    unreadableNotes(store.unreadable, tables);
  const timeContext = (zone: Zone): TimeContext => ({ nowMs: clock.now().utcMs, zone });
  return {
    async changes(query) {
      const asked = readRequest(changesQuery, query);
      const { from, to, tz, from_status, to_status, limit, before, after, ...rest } = asked;
      const { lapses: observations, ...fields } = rest;
      const filter = { ...fields, from: from_status, to: to_status, observations };
      if (after !== undefined) {
        const later = await store.changes.after(after, filter, limit);
        const changes = later.changes.map(viewChange);
        return { changes, next: null, after: later.cursor, notes: unreadable(changeTables) };
      }
      const newest = await store.changes.newest();
      const range = { ...rangeOf({ from, to }, timeContext(tz)), keptUpTo: newest };
      const found = await firstOf(
        store.changes.between({ ...filter, ...range, direction: "desc", cursor: before }),
        limit + 1,
      );
      const shown = found.slice(0, limit);
      return {
        changes: shown.map(viewChange),
        next: found.length > limit ? (shown.at(-1)?.cursor ?? null) : null,
        after: newest,
        notes: [
          ...(found.length === 0 ? names.ofMatch({ region: asked.region, key: asked.key }) : []),
          ...unreadable(changeTables),
        ],
      };
    },

    async incidents(query) {
      const asked = readRequest(incidentsQuery, query);
      const { from, to, tz, state, rule, severity, limit, before, after, ...fields } = asked;
      const selection = { ...fields, phases: state, rules: rule, severities: severity };
      if (after !== undefined) {
        const later = await store.incidents.after(after, selection, limit);
        const incidents = later.incidents.map(viewIncident);
        return { incidents, next: null, after: later.cursor, notes: unreadable(["incidents"]) };
      }
      const newest = await store.incidents.newest();
      const range = rangeOf({ from, to }, timeContext(tz));
      const page = { ...selection, ...range, limit: limit + 1, before: before ?? null };
      const found = await store.incidents.page(page);
      const { region, key } = asked;
      return {
        incidents: found.slice(0, limit).map(viewIncident),
        next: nextPlace(found, limit, ({ incident: { id, startedAtMs: atMs } }) => ({ atMs, id })),
        after: newest,
        notes: [
          ...(found.length === 0 ? names.ofMatch({ rule, region, key }) : []),
          ...unreadable(["incidents"]),
        ],
      };
    },
  };
}

const changeTables = ["changes"] as const;

/** Where the next page begins, when more was found than fits one. */
export function nextPlace<Row>(
  found: readonly Row[],
  limit: number,
  placeOf: (row: Row) => { readonly atMs: number; readonly id: string },
): string | null {
  const last = found[limit - 1];
  return found.length > limit && last !== undefined ? placeText(placeOf(last)) : null;
}

/**
 * As reports take it; left open at an end that is not given.
 *
 * @throws {RefusedError} when there is no such range
 */
function rangeOf(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  context: TimeContext,
): TimeRange {
  if (from === undefined && to === undefined) return allTime;
  const range = reportRangeOf({ from: from ?? "1970-01-01T00:00Z", to }, context);
  return {
    fromMs: from === undefined ? allTime.fromMs : range.fromMs,
    toMs: to === undefined && range.toMs === context.nowMs ? allTime.toMs : range.toMs,
  };
}
