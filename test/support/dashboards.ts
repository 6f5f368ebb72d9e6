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
  collapsed: z.boolean(),
  gridPos,
  panels: z.array(panelSchema),
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
});

const dashboardSchema = z.looseObject({
  uid: z.string(),
  title: z.string(),
  description: z.string(),
  schemaVersion: z.int(),
  timezone: z.string(),
  refresh: z.string(),
  time: z.strictObject({ from: z.string(), to: z.string() }),
  tags: z.array(z.string()),
  links: z.array(
    z.looseObject({ type: z.string(), includeVars: z.boolean(), keepTime: z.boolean() }),
  ),
  templating: z.strictObject({ list: z.array(variableSchema) }),
  panels: z.array(z.union([rowSchema, panelSchema])),
});

export type Panel = z.infer<typeof panelSchema>;
export type Target = z.infer<typeof target>;
type Dashboard = z.infer<typeof dashboardSchema>;

export interface CheckedInDashboard {
  readonly file: string;
  readonly whole: Dashboard;
  /** Also those inside closed rows. */
  readonly panels: readonly Panel[];
  readonly rows: readonly z.infer<typeof rowSchema>[];
}

/** The dashboards as users import them. */
export function readDashboards(): readonly CheckedInDashboard[] {
  const files = readdirSync(grafanaFolder).filter((name) => name.endsWith(".json"));
  return files.toSorted().map((file) => {
    const json: unknown = JSON.parse(readFileSync(join(grafanaFolder, file), "utf8"));
    const whole = dashboardSchema.parse(json);
    const rows = whole.panels.filter(isRow);
    const panels = whole.panels.flatMap((each) => (isRow(each) ? each.panels : [each]));
    return { file, whole, panels, rows };
  });
}

function isRow(panel: Dashboard["panels"][number]): panel is z.infer<typeof rowSchema> {
  return panel.type === "row";
}

/** What a variable asks for: the values of a label of some series. */
export function readLabelValues(query: string): {
  readonly selector: string;
  readonly label: string;
} {
  const [, selector, label] = /^label_values\((.+), (\w+)\)$/.exec(query) ?? [];
  if (selector === undefined || label === undefined) throw new SyntaxError(`cannot read ${query}`);
  return { selector, label };
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
