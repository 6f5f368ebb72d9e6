import type { StatusView } from "../../../src/web/status-page.ts";

export const emptyStatus: StatusView = {
  version: "1.2.3",
  nowMs: Date.UTC(2026, 10, 20, 9, 30),
  targets: [],
  probes: [],
  incidents: [],
  silences: [],
  receivers: [],
};
