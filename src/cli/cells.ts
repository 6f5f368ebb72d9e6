import type { Color } from "./look.ts";
import type { Cell } from "./table.ts";

const statusColors: Readonly<Record<string, Color>> = { error: "red", unknown: "yellow" };
const severityColors: Readonly<Record<string, Color>> = { critical: "red", warning: "yellow" };

export function statusCell(status: string): Cell {
  return { text: status, color: statusColors[status] };
}

export function severityCell(severity: string): Cell {
  return { text: severity, color: severityColors[severity] };
}

/** The status of a server or sandbox. */
export function presentStatusCell({
  status,
  stale,
}: {
  readonly status: string;
  readonly stale: boolean;
}): Cell {
  return stale ? { text: `${status} (unobserved)`, color: "yellow" } : statusCell(status);
}
