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
