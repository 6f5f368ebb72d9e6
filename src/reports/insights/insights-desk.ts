import type { ReportDeskDeps } from "../report-desk.ts";
import { storedSources } from "../stored-sources.ts";
import { tellInsights } from "./tell-insights.ts";
import type { InsightsRequest } from "./tell-insights.ts";
import type { InsightsView } from "./view.ts";

/** What people ask of sandwatch about what stands out. */
export interface InsightsDesk {
  insights(query: InsightsRequest): Promise<InsightsView>;
}

export function createInsightsDesk({ store, targets, clock }: ReportDeskDeps): InsightsDesk {
  const configured = targets.map(({ target }) => target);
  const sources = storedSources(store, configured, targets);
  return { insights: (query) => tellInsights(query, sources, clock.now().utcMs) };
}
