import type { EventSource } from "../../../src/web/api/events-route.ts";

export const noEvents: EventSource = () =>
  Promise.resolve({ events: [], after: "", hasMore: false });
