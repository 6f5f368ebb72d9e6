import type { HistoryContext } from "../../../src/api/context.ts";
import { createApi } from "../../../src/api/operation.ts";
import { computeInsights, type InsightsRequest } from "../../../src/api/operations/insights.ts";
import type { ReportSources } from "../../../src/reports/report-sources.ts";
import { recordHistory, type ListedServer } from "../../support/recorded-history.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** A Monday. */
export const startMs = Date.UTC(2026, 9, 5);
const research = { region: "us", key: "research" };

export function insightsOf(request: InsightsRequest, reports: ReportSources, atMs: number) {
  const clock = { now: () => ({ utcMs: atMs, monotonicMs: 0 }), setTimer: () => () => {} };
  return createApi<HistoryContext>({ reports, clock })(computeInsights, request);
}

/** Polls every ten minutes for some weeks. */
export function watch(
  weeks: number,
  serversAt: (atMs: number, week: number) => readonly ListedServer[],
) {
  const history = recordHistory();
  const target = history.add(research);
  const endMs = startMs + weeks * 7 * dayMs;
  for (let atMs = startMs; atMs <= endMs; atMs += 10 * minuteMs) {
    const week = Math.floor((atMs - startMs) / (7 * dayMs));
    target.poll(atMs, { kind: "all", servers: serversAt(atMs, week) });
  }
  const ask = (request: InsightsRequest = {}, atMs = endMs) => insightsOf(request, history, atMs);
  return { history, target, endMs, ask };
}

export const hourOf = (atMs: number): number => new Date(atMs).getUTCHours();
export const dayOf = (atMs: number): number => new Date(atMs).getUTCDay();
