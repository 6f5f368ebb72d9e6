import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

export const grafanaFolder = join(import.meta.dirname, "../../config/grafana");

const dataSource = z.looseObject({ type: z.string(), uid: z.string() });

const target = z.looseObject({
  refId: z.string(),
  expr: z.string(),
  datasource: dataSource,
  legendFormat: z.string().optional(),
  instant: z.boolean().optional(),
  format: z.enum(["time_series", "table", "heatmap"]).optional(),
});
const fieldLinks = z.array(z.looseObject({ title: z.string(), url: z.string() }));
const property = z.looseObject({ id: z.string(), value: z.unknown() });
const gridPos = z.strictObject({ x: z.int(), y: z.int(), w: z.int(), h: z.int() });

const panelSchema = z.looseObject({
  id: z.int(),
  type: z.string(),
  title: z.string(),
  description: z.string(),
  datasource: dataSource,
  interval: z.string().optional(),
  timeFrom: z.string().optional(),
  gridPos,
  targets: z.array(target),
  fieldConfig: z.looseObject({
    defaults: z.looseObject({
      unit: z.string(),
      links: fieldLinks.default([]),
      mappings: z.array(z.unknown()).default([]),
    }),
    overrides: z.array(
      z.looseObject({
        matcher: z.looseObject({ id: z.string(), options: z.string() }),
        properties: z.array(property),
      }),
    ),
  }),
});

const rowSchema = z.looseObject({
  id: z.int(),
  type: z.literal("row"),
  title: z.string(),
  collapsed: z.literal(false),
  gridPos,
});

const variableSchema = z.looseObject({
  name: z.string(),
  type: z.enum(["datasource", "query"]),
  label: z.string(),
  description: z.string(),
  datasource: dataSource.optional(),
  query: z.union([z.string(), z.looseObject({ query: z.string() })]),
  multi: z.boolean(),
  includeAll: z.boolean(),
  regex: z.string().optional(),
});

const dashboardSchema = z.looseObject({
  uid: z.string(),
  title: z.string(),
  time: z.strictObject({ from: z.string(), to: z.literal("now") }),
  templating: z.strictObject({ list: z.array(variableSchema) }),
  panels: z.array(z.union([rowSchema, panelSchema])),
});

export type Panel = z.infer<typeof panelSchema>;
type Row = z.infer<typeof rowSchema>;
export type Target = z.infer<typeof target>;
type Dashboard = z.infer<typeof dashboardSchema>;

export interface CheckedInDashboard {
  readonly file: string;
  readonly whole: Dashboard;
  readonly panels: readonly Panel[];
  readonly rows: readonly Row[];
}

/** The dashboards as users import them. */
export function readDashboards(): readonly CheckedInDashboard[] {
  const files = readdirSync(grafanaFolder).filter((name) => name.endsWith(".json"));
  return files.toSorted().map((file) => {
    const json: unknown = JSON.parse(readFileSync(join(grafanaFolder, file), "utf8"));
    const whole = dashboardSchema.parse(json);
    const rows = whole.panels.filter(isRow);
    const panels = whole.panels.filter(isPanel);
    return { file, whole, panels, rows };
  });
}

function isRow(panel: Dashboard["panels"][number]): panel is Row {
  return panel.type === "row";
}

function isPanel(panel: Dashboard["panels"][number]): panel is Panel {
  return !isRow(panel);
}

/** What a variable asks for: the values of a label, in all series of a selector or in a query's result. */
export interface VariableQuery {
  /** The variable. */
  readonly name: string;
  readonly expr: string;
  readonly label: string;
  readonly ofResult: boolean;
}

/** Of each variable but that of the data source. */
export function readVariableQueries({ templating }: Dashboard): readonly VariableQuery[] {
  return templating.list.flatMap(({ name, query, regex = "" }): readonly VariableQuery[] => {
    if (typeof query === "string") return [];
    const [, selector, label] = /^label_values\((.+), (\w+)\)$/.exec(query.query) ?? [];
    if (selector !== undefined && label !== undefined) {
      return [{ name, expr: selector, label, ofResult: false }];
    }
    const [, expr] = /^query_result\((.+)\)$/.exec(query.query) ?? [];
    const [, taken] = /^\/\[\{,\](\w+)="\(\[\^"\]\+\)"\/$/.exec(regex) ?? [];
    if (expr !== undefined && taken !== undefined) {
      return [{ name, expr, label: taken, ofResult: true }];
    }
    throw new SyntaxError(`cannot read ${query.query} ${regex}`);
  });
}

/** What Grafana puts in the place of its variables. */
export type Choice = Readonly<Record<string, string>>;

/** Anything that can be chosen, in a range of an hour. */
export const anything: Choice = {
  region: ".*",
  key: ".*",
  server_name: ".*",
  instance: ".*",
  sandbox: "a-sandbox",
  server: "a-server",
  erring: "a-server|another",
  __range: "1h",
  __rate_interval: "1m",
};

/** @throws {ReferenceError} for a variable that is not chosen */
export function substitute(text: string, choice: Choice): string {
  return text.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (written, braced?: string, bare?: string) => {
    const value = choice[braced ?? bare ?? ""];
    if (value === undefined) throw new ReferenceError(`no variable ${written}`);
    return value;
  });
}
