import { DashboardBuilder, DashboardCursorSync } from "@grafana/grafana-foundation-sdk/dashboard";
import type {
  Dashboard,
  Panel,
  RowPanel,
  VariableModel,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { tag, toOthers } from "./links.ts";
import type { PanelPlan } from "./panel-plan.ts";

/** The width of the grid that panels are laid out on. */
const columns = 24;

export interface Row {
  readonly title: string;
  /** Side by side, as many as fit. */
  readonly panels: readonly Pick<PanelPlan, "width" | "height" | "build">[];
}

export interface DashboardPlan {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** How far back it shows at first, such as `24h`. */
  readonly since: string;
  readonly refresh: string;
  readonly variables: readonly VariableModel[];
  readonly rows: readonly Row[];
}

/** A dashboard as Grafana imports it, as JSON. */
export function dashboardText(plan: DashboardPlan): string {
  return `${JSON.stringify(createDashboard(plan), null, 2)}\n`;
}

function createDashboard(plan: DashboardPlan): Dashboard {
  const dashboard = new DashboardBuilder(plan.title)
    .uid(plan.uid)
    .description(plan.description)
    .tags([tag])
    .timezone("browser")
    .time({ from: `now-${plan.since}`, to: "now" })
    .refresh(plan.refresh)
    .tooltip(DashboardCursorSync.Crosshair)
    .editable()
    .link({ build: () => toOthers })
    .build();
  return {
    ...dashboard,
    templating: { list: [...plan.variables] },
    panels: layOut(plan.rows),
  };
}

function layOut(rows: readonly Row[]): (Panel | RowPanel)[] {
  const placed: (Panel | RowPanel)[] = [];
  let id = 0;
  let y = 0;
  for (const { title, panels } of rows) {
    const row: RowPanel = {
      type: "row",
      id: ++id,
      title,
      collapsed: false,
      gridPos: { x: 0, y: y++, w: columns, h: 1 },
      panels: [],
    };
    placed.push(row);
    let [x, lineHeight] = [0, 0];
    for (const panel of panels) {
      const { width, height } = panel;
      if (x + width > columns) {
        y += lineHeight;
        [x, lineHeight] = [0, 0];
      }
      placed.push({ ...panel.build(), id: ++id, gridPos: { x, y, w: width, h: height } });
      x += width;
      lineHeight = Math.max(lineHeight, height);
    }
    y += lineHeight;
  }
  return placed;
}
