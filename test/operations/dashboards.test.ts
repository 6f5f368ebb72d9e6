import { describe, expect, it } from "vitest";
import { statusColours } from "../../generate/dashboards/colours.ts";
import { statuses } from "../../src/fleet/model.ts";
import { eventfulFamilies } from "../metrics/exposition.ts";
import {
  anything,
  readDashboards,
  readVariableQueries,
  substitute,
} from "../support/dashboards.ts";
import type { Panel } from "../support/dashboards.ts";
import { checkRules } from "../support/known-series.ts";
import { checkPromql } from "../support/promql.ts";

const dashboards = readDashboards();
const allPanels = dashboards.flatMap(({ whole, panels }) =>
  panels.map((panel) => ({ ...panel, name: `${whole.title}: ${panel.title}` })),
);

const namesIn = (text: string, pattern: RegExp): readonly string[] =>
  Array.from(text.matchAll(pattern), ([, name = ""]) => name);
const queryOf = (query: string | { readonly query: string }): string =>
  typeof query === "string" ? query : query.query;
const linksOf = ({ fieldConfig: { defaults, overrides } }: Panel): readonly string[] => [
  ...defaults.links.map(({ url }) => url),
  ...namesIn(JSON.stringify(overrides), /"url":"([^"]+)"/g),
];

const { known } = await checkRules();
const check = (expr: string) => checkPromql(substitute(expr, anything), known);

describe("the queries of dashboards", () => {
  it("use only metrics, labels and values that are exposed or recorded", () => {
    const queries = allPanels.flatMap(({ name, targets }) =>
      targets.map(({ expr }) => ({ name, expr, faults: check(expr).faults })),
    );
    expect(queries.length).toBeGreaterThan(80);
    expect(queries.filter(({ faults }) => faults.length > 0)).toEqual([]);
  });

  it("name series and link by labels that their results have", () => {
    for (const panel of allPanels) {
      const labels = panel.targets.map(({ expr }) => check(expr).labels);
      const shown = panel.targets.map(({ legendFormat = "" }) =>
        namesIn(legendFormat, /\{\{(\w+)\}\}/g),
      );
      const linked = linksOf(panel).flatMap((url) =>
        namesIn(url, /\$\{__(?:field\.labels|data\.fields)\.(\w+):percentencode\}/g),
      );
      const used = shown.map((names, index) => [...names, ...(index === 0 ? linked : [])]);
      const lacking = used.flatMap((names, index) =>
        names.filter((name) => !labels[index]?.has(name) && !["le", "instance"].includes(name)),
      );
      expect([panel.name, lacking]).toEqual([panel.name, []]);
    }
  });

  it("use families with a series for each server only where they select single servers", async () => {
    const aggregates = await eventfulFamilies({ perServer: false });
    const perServer = new Set((await eventfulFamilies()).keys()).difference(aggregates);
    expect(perServer.size).toBe(7);
    const touches = (expr: string): boolean => !perServer.isDisjointFrom(check(expr).metrics);
    const touching = allPanels.filter(({ targets }) => targets.some(({ expr }) => touches(expr)));
    const [ofOne = [], lists = []] = [true, false].map((isOne) =>
      touching.filter(({ name }) => name.startsWith("sandwatch: server: ") === isOne),
    );
    expect(lists.map(({ name }) => name)).toEqual([
      "sandwatch: fleet: Servers in error now",
      "sandwatch: fleet: History of servers in error",
    ]);
    const unselected = (panels: readonly Panel[], selector: string): readonly string[] =>
      panels
        .flatMap(({ targets }) => targets)
        .flatMap(({ expr }) => Array.from(expr.matchAll(/(\w+)\{([^}]*)\}/g)))
        .filter(([, metric = ""]) => perServer.has(metric))
        .flatMap(([whole, , matchers = ""]) => (matchers.includes(selector) ? [] : whole));
    expect(unselected(ofOne, 'sandbox="$sandbox"')).toEqual([]);
    expect(unselected(lists, 'server=~"$erring"')).toEqual([]);
    const variables = dashboards.flatMap(({ file, whole }) =>
      readVariableQueries(whole)
        .filter(({ expr }) => touches(expr))
        .map(({ name, expr }) => [file, name, /^topk\(\d+, .*status="error"\} == 1\)$/.test(expr)]),
    );
    expect(variables).toEqual([
      ["fleet.json", "erring", true],
      ["server.json", "sandbox", false],
      ["server.json", "server", false],
    ]);
  });

  it("match variables of several values as expressions, and others as text", () => {
    let matched = 0;
    for (const { whole, panels } of dashboards) {
      const isMulti = new Map(whole.templating.list.map(({ name, multi }) => [name, multi]));
      const texts = [
        ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
        ...whole.templating.list.map(({ query }) => queryOf(query)),
      ];
      for (const text of texts) {
        for (const [, operator, name = ""] of text.matchAll(/(=~|!~|=|!=)"\$(\w+)"/g)) {
          expect([text, operator]).toEqual([text, isMulti.get(name) ? "=~" : "="]);
          matched += 1;
        }
        // Without a format, the data source escapes what is special in expressions.
        expect(text).not.toMatch(/\$\{/);
      }
    }
    expect(matched).toBeGreaterThan(100);
  });
});

describe.each(dashboards)("the dashboard $file", ({ whole, panels, rows }) => {
  it("has an identity, links to the others, and panels with descriptions and units", () => {
    expect(whole).toMatchObject({
      uid: expect.stringMatching(/^sandwatch-[a-z]+$/),
      timezone: "browser",
      tags: ["sandwatch"],
      links: [{ type: "dashboards", tags: ["sandwatch"], includeVars: true, keepTime: true }],
    });
    // With an id of its own it would replace the dashboard that has the number where it is imported.
    expect(whole).not.toHaveProperty("id");
    for (const { title, description, fieldConfig } of panels) {
      expect([title, description]).toEqual([title, expect.stringMatching(/\.$/)]);
      expect([title, fieldConfig.defaults.unit]).toEqual([title, expect.stringMatching(/^\w+$/)]);
    }
  });

  it("uses the chosen data source only", () => {
    const chosen = { type: "prometheus", uid: "${datasource}" };
    const [first, ...variables] = whole.templating.list;
    expect(first).toMatchObject({ name: "datasource", type: "datasource", query: "prometheus" });
    const targets = panels.flatMap((panel) => panel.targets);
    for (const { datasource } of [...variables, ...panels, ...targets]) {
      expect(datasource).toEqual(chosen);
    }
  });

  it("uses all its variables and no others, each defined before its use", () => {
    const defined = new Set<string>();
    for (const { name, expr, label } of readVariableQueries(whole)) {
      const unknown = namesIn(expr, /\$(\w+)/g).filter((each) => !defined.has(each));
      const { faults, labels } = check(expr);
      const hasLabel = labels.has(label) || label === "instance";
      expect([name, unknown, faults, hasLabel]).toEqual([name, [], [], true]);
      defined.add(name);
    }
    const { list } = whole.templating;
    const texts = [
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
      ...list.map(({ query }) => queryOf(query)),
    ];
    const used = new Set(texts.flatMap((text) => namesIn(text, /\$(\w+)/g)));
    const own = list.map(({ name }) => name).filter((name) => name !== "datasource");
    const builtIn = new Set(["__range", "__rate_interval"]);
    expect([...used.difference(builtIn)].toSorted()).toEqual(own.toSorted());
  });

  it("has panels that do not overlap", () => {
    const placed = [...rows, ...panels];
    expect(new Set(placed.map(({ id }) => id)).size).toBe(placed.length);
    const cells = placed.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => [x + (cell % w), y + Math.floor(cell / w)]),
    );
    expect(Math.max(...cells.map(([x = 0]) => x))).toBeLessThan(24);
    expect(new Set(cells.map(String)).size).toBe(cells.length);
  });
});

it("a status has the same colour wherever it is shown, and no status lacks one", () => {
  const colours = allPanels.flatMap(({ fieldConfig: { defaults, overrides } }) => [
    ...JSON.stringify(defaults.mappings).matchAll(/\{"text":"(\w+)","color":"([^"]+)"/g),
    ...overrides.flatMap(({ matcher, properties }) => {
      const [whole, colour] = /"fixedColor":"([^"]+)"/.exec(JSON.stringify(properties)) ?? [];
      return colour === undefined ? [] : [[whole, matcher.options, colour]];
    }),
  ]);
  const own: ReadonlyMap<string, string> = new Map(Object.entries(statusColours));
  const shown = colours.filter(([, name = ""]) => own.has(name));
  expect(shown.length).toBeGreaterThan(20);
  for (const [, name = "", colour] of shown) expect([name, colour]).toEqual([name, own.get(name)]);
  const byStatus = allPanels.filter(({ targets }) =>
    targets.some(({ legendFormat }) => legendFormat === "{{status}}"),
  );
  expect(byStatus.length).toBeGreaterThan(1);
  for (const { fieldConfig } of byStatus) {
    expect(fieldConfig.overrides.map(({ matcher }) => matcher.options)).toEqual([...statuses]);
  }
});

it("links to the dashboard of a server name all that identifies it, and the time range", () => {
  const server = dashboards.find(({ file }) => file === "server.json")?.whole;
  const variables = server?.templating.list.map(({ name }) => name);
  const urls = allPanels.flatMap(linksOf);
  expect(urls).toHaveLength(2);
  for (const url of urls) {
    expect(url.startsWith(`/d/${server?.uid}?\${datasource:queryparam}&`)).toBe(true);
    expect(url.endsWith("&${__url_time_range}")).toBe(true);
    const set = namesIn(url, /var-(\w+)=/g);
    expect(set).toEqual(["region", "key", "sandbox", "server"]);
    expect(variables).toEqual(expect.arrayContaining([...set]));
  }
});
