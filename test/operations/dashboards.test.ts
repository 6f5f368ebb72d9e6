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
import { readKnownSeries } from "../support/known-series.ts";
import { checkPromql } from "../support/promql.ts";
import { readRuleGroups, recordingRulesOf } from "../support/rule-files.ts";

const dashboards = readDashboards();
const allPanels = dashboards.flatMap(({ whole, panels }) =>
  panels.map((panel) => ({ name: `${whole.title}: ${panel.title}`, panel })),
);

/** What may ask for series of single servers, beside the dashboard of one: the servers in error. */
const mayBePerServer = [
  "sandwatch: fleet: Servers in error now",
  "sandwatch: fleet: History of servers in error",
];

async function knownSeries() {
  const recorded = new Map<string, ReadonlySet<string>>();
  const known = await readKnownSeries(recorded);
  for (const { record, expr } of recordingRulesOf(readRuleGroups())) {
    recorded.set(record, checkPromql(expr, known).labels);
  }
  return known;
}

async function perServerFamilies(): Promise<ReadonlySet<string>> {
  const [all, aggregates] = [
    await eventfulFamilies(),
    await eventfulFamilies({ perServer: false }),
  ];
  return new Set([...all.keys()].filter((name) => !aggregates.has(name)));
}

describe("the queries of dashboards", () => {
  it("ask only for metrics, labels and values that are exposed or recorded", async () => {
    const known = await knownSeries();
    const asked = allPanels.flatMap(({ name, panel }) =>
      panel.targets.map(({ expr }) => ({ name, expr: substitute(expr, anything) })),
    );
    expect(asked.length).toBeGreaterThan(80);
    const faulty = asked
      .map(({ name, expr }) => ({ name, expr, faults: checkPromql(expr, known).faults }))
      .filter(({ faults }) => faults.length > 0);
    expect(faulty).toEqual([]);
  });

  it("have legends and links only of labels that their results have", async () => {
    const known = await knownSeries();
    for (const { name, panel } of allPanels) {
      const labels = panel.targets.map(
        ({ expr }) => checkPromql(substitute(expr, anything), known).labels,
      );
      const shown = panel.targets.flatMap(({ legendFormat = "" }, index) =>
        Array.from(
          legendFormat.matchAll(/\{\{(\w+)\}\}/g),
          ([, label = ""]) => [index, label] as const,
        ),
      );
      const linked = linksOf(panel).flatMap((url) =>
        Array.from(
          url.matchAll(/\$\{__(?:field\.labels|data\.fields)\.(\w+):percentencode\}/g),
          ([, label = ""]) => [0, label] as const,
        ),
      );
      const lacking = [...shown, ...linked].filter(
        ([index, label]) => !labels[index]?.has(label) && !["le", "instance"].includes(label),
      );
      expect([name, lacking]).toEqual([name, []]);
    }
  });

  it("touch the families that have a series for each server only where single servers are looked for", async () => {
    const [known, perServer] = [await knownSeries(), await perServerFamilies()];
    expect(perServer.size).toBe(4);
    const touches = (expr: string): boolean => {
      const { metrics } = checkPromql(substitute(expr, anything), known);
      return [...metrics].some((metric) => perServer.has(metric));
    };
    const touching = allPanels.filter(({ panel }) =>
      panel.targets.some(({ expr }) => touches(expr)),
    );
    const ofOne = touching.filter(({ name }) => name.startsWith("sandwatch: server: "));
    const lists = touching.filter((each) => !ofOne.includes(each));
    expect(lists.map(({ name }) => name)).toEqual(mayBePerServer);

    const wide = (panels: typeof touching, narrowed: string): readonly string[] =>
      panels
        .flatMap(({ panel }) => panel.targets)
        .flatMap(({ expr }) => Array.from(expr.matchAll(/(\w+)\{([^}]*)\}/g)))
        .filter(
          ([, metric = "", matchers]) => perServer.has(metric) && !matchers?.includes(narrowed),
        )
        .map(([selector]) => selector);
    expect(ofOne.length).toBeGreaterThan(5);
    expect(wide(ofOne, 'sandbox="$sandbox"')).toEqual([]);
    expect(wide(lists, 'server=~"$erring"')).toEqual([]);

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

  it("take what is chosen as it is: several values as an expression, one as it is written", () => {
    const several = new Map(
      dashboards.map(({ file, whole }) => [
        file,
        new Map(whole.templating.list.map(({ name, multi }) => [name, multi])),
      ]),
    );
    const texts = dashboards.flatMap(({ file, whole, panels }) => [
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => ({ file, text: expr }))),
      ...whole.templating.list.map(({ query }) => ({ file, text: queryOf(query) })),
    ]);
    let matched = 0;
    for (const { file, text } of texts) {
      for (const [, operator, name = ""] of text.matchAll(/(=~|!~|=|!=)"\$(\w+)"/g)) {
        expect([text, operator]).toEqual([text, several.get(file)?.get(name) ? "=~" : "="]);
        matched += 1;
      }
      // No format: then the data source itself masks what is special in expressions.
      expect(text).not.toMatch(/\$\{/);
    }
    expect(matched).toBeGreaterThan(100);
  });
});

function queryOf(query: string | { readonly query: string }): string {
  return typeof query === "string" ? query : query.query;
}

/** Which texts and series have which colour. */
function coloursIn({ fieldConfig: { defaults, overrides } }: Panel): [string, string][] {
  const mapped = JSON.stringify(defaults.mappings).matchAll(/\{"text":"(\w+)","color":"([^"]+)"/g);
  return [
    ...Array.from(mapped, ([, text = "", colour = ""]): [string, string] => [text, colour]),
    ...overrides.flatMap(({ matcher, properties }): [string, string][] => {
      const [, colour] = /"fixedColor":"([^"]+)"/.exec(JSON.stringify(properties)) ?? [];
      return colour === undefined ? [] : [[matcher.options, colour]];
    }),
  ];
}

function linksOf({ fieldConfig: { defaults, overrides } }: Panel): readonly string[] {
  const inOverrides = JSON.stringify(overrides).matchAll(/"url":"([^"]+)"/g);
  return [
    ...defaults.links.map(({ url }) => url),
    ...Array.from(inOverrides, ([, url = ""]) => url),
  ];
}

describe.each(dashboards)("the dashboard $file", ({ whole, panels, rows }) => {
  it("says when it is shown how: range, refresh, time zone, version and identity", () => {
    expect(whole).toMatchObject({
      uid: expect.stringMatching(/^sandwatch-[a-z]+$/),
      timezone: "browser",
      time: { from: expect.stringMatching(/^now-\d+h$/), to: "now" },
      refresh: expect.stringMatching(/^\d+[sm]$/),
    });
    expect(whole.description).toMatch(/\.$/);
    expect(whole.schemaVersion).toBeGreaterThanOrEqual(39);
    // With an id of its own it would replace whatever has that number where it is imported.
    expect(whole).not.toHaveProperty("id");
  });

  it("tells of every panel what it shows, and in which unit", () => {
    for (const { title, description, fieldConfig } of panels) {
      expect(title).not.toBe("");
      expect([title, description]).toEqual([title, expect.stringMatching(/^[A-Z].{20,}\.$/)]);
      expect([title, fieldConfig.defaults.unit]).toEqual([title, expect.stringMatching(/^\w+$/)]);
    }
  });

  it("takes everything from the data source that is chosen", () => {
    const chosen = { type: "prometheus", uid: "${datasource}" };
    const [first, ...variables] = whole.templating.list;
    expect(first).toMatchObject({ name: "datasource", type: "datasource", query: "prometheus" });
    for (const { datasource } of [...variables, ...panels]) expect(datasource).toEqual(chosen);
    for (const { targets } of panels) {
      expect(targets.length).toBeGreaterThan(0);
      for (const { datasource } of targets) expect(datasource).toEqual(chosen);
      const ids = targets.map(({ refId }) => refId);
      expect(ids).toEqual([...new Set(ids)]);
    }
  });

  it("has variables whose queries ask for what is exposed, and for variables before them", async () => {
    const known = await readKnownSeries();
    const before = new Set<string>();
    for (const { name, expr, label } of readVariableQueries(whole)) {
      const used = Array.from(expr.matchAll(/\$(\w+)/g), ([, each = ""]) => each);
      expect([name, used.filter((each) => !before.has(each))]).toEqual([name, []]);
      const { faults, labels } = checkPromql(substitute(expr, anything), known);
      expect([name, faults, labels.has(label) || label === "instance"]).toEqual([name, [], true]);
      before.add(name);
    }
  });

  it("uses only variables that it has, and each of them", () => {
    const { list } = whole.templating;
    const texts = [
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
      ...list.map(({ query }) => queryOf(query)),
    ];
    const used = new Set(
      texts.flatMap((text) => Array.from(text.matchAll(/\$(\w+)/g), ([, name = ""]) => name)),
    );
    const builtIn = ["__range", "__rate_interval"];
    const own = list.map(({ name }) => name).filter((name) => name !== "datasource");
    expect([...used].filter((name) => !builtIn.includes(name)).toSorted()).toEqual(own.toSorted());
  });

  it("has ids that come once, and panels that lie side by side within the grid", () => {
    const placed = [...rows, ...panels];
    const ids = placed.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    for (const [index, { title, gridPos: one }] of placed.entries()) {
      expect([title, one.x >= 0 && one.x + one.w <= 24]).toEqual([title, true]);
      for (const { title: other, gridPos: two } of placed.slice(index + 1)) {
        const apart =
          one.x + one.w <= two.x ||
          two.x + two.w <= one.x ||
          one.y + one.h <= two.y ||
          two.y + two.h <= one.y;
        expect([title, other, apart]).toEqual([title, other, true]);
      }
    }
  });

  it("leads to the others with what is chosen and the time range", () => {
    expect(whole.tags).toEqual(["sandwatch"]);
    expect(whole.links).toMatchObject([
      { type: "dashboards", tags: ["sandwatch"], includeVars: true, keepTime: true },
    ]);
  });
});

describe("the colours of statuses", () => {
  const panels = allPanels.map(({ panel }) => panel);

  it("are the same wherever a status is shown", () => {
    const own: ReadonlyMap<string, string> = new Map(Object.entries(statusColours));
    const shown = panels.flatMap(coloursIn).filter(([name]) => own.has(name));
    expect(shown.length).toBeGreaterThan(20);
    expect(shown).toEqual(shown.map(([name]) => [name, own.get(name)]));
  });

  it("are all there where series are statuses", () => {
    const byStatus = panels.filter(({ targets }) =>
      targets.some(({ legendFormat }) => legendFormat === "{{status}}"),
    );
    expect(byStatus.length).toBeGreaterThan(1);
    for (const { fieldConfig } of byStatus) {
      expect(fieldConfig.overrides.map(({ matcher }) => matcher.options)).toEqual([...statuses]);
    }
  });
});

describe("what leads to a server's dashboard", () => {
  const server = dashboards.find(({ file }) => file === "server.json");
  const urls = allPanels.flatMap(({ panel }) => linksOf(panel));

  it("is every list of erring servers", () => {
    expect(urls.length).toBe(mayBePerServer.length);
  });

  it("names that dashboard, all that identifies the server, the data source and the time range", () => {
    const variables = new Set(server?.whole.templating.list.map(({ name }) => name));
    for (const url of urls) {
      expect(url.startsWith(`/d/${server?.whole.uid}?\${datasource:queryparam}&`)).toBe(true);
      expect(url.endsWith("&${__url_time_range}")).toBe(true);
      const set = Array.from(url.matchAll(/var-(\w+)=/g), ([, name = ""]) => name);
      expect(set).toEqual(["region", "key", "sandbox", "server"]);
      expect(set.filter((name) => !variables.has(name))).toEqual([]);
    }
  });
});
