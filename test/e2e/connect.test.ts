import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { compileBody } from "../../src/notify/receivers/body-template.ts";
import { everySubject, notificationOf } from "../notify/support/notifications.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { testConfig } from "../support/test-config.ts";
import { startPrometheus } from "./support/prometheus-server.ts";
import { openRealWorld } from "./support/real-world.ts";
import { until } from "./support/until.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/connect.md"), "utf8");
const blocks = Array.from(page.matchAll(/^```yaml\n([^]*?)^```$/gm), ([, text = ""]) => text);

/** The values of a field, wherever it is. */
function valuesOf(value: unknown, field: string): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    name === field ? [part] : valuesOf(part, field),
  );
}

const receiverSchema = z.looseObject({
  name: z.string(),
  url: z.string(),
  body: z.strictObject({ text: z.string() }).optional(),
});
const receivers = blocks
  .filter((text) => text.startsWith("- name:"))
  .flatMap((text) => z.array(receiverSchema).parse(parse(text)));

it("queries of the recipes have values in a real Prometheus, whose tool accepts the configuration to scrape", async () => {
  const world = await openRealWorld({ servers: 4, alerts: {} });
  const address = await world.start();
  const prometheus = await startPrometheus({ sandwatch: address }, {});
  const queries = blocks.flatMap((text) =>
    ["query", "expr"].flatMap((field) => valuesOf(parse(text), field)),
  );
  expect(queries).toHaveLength(2);
  for (const query of queries) {
    const found = await until(`${String(query)} has a value`, async () => {
      const series = await prometheus.query(String(query));
      return series.length > 0 && series;
    });
    expect(found.length).toBeGreaterThan(0);
  }
  const [scrapes] = blocks.flatMap((text) => valuesOf(parse(text), "scrape_configs"));
  const file = join(tempFolder(), "prometheus.yaml");
  const text = JSON.stringify({ scrape_configs: scrapes });
  writeFileSync(file, text.replace("/etc/otelcol/sandwatch-token", "token"));
  writeFileSync(join(file, "../token"), "x");
  expect(execFileSync("promtool", ["check", "config", file], { encoding: "utf8" })).toMatch(
    /SUCCESS/,
  );
});

it("addresses of the recipes have the rows and columns that they name", async () => {
  const world = await openRealWorld({
    servers: 4,
    alerts: { rules: [{ name: "server-error", on: "server", status: "error" }] },
  });
  world.show(0, "error");
  const address = await world.start();
  const table = Array.from(
    page.matchAll(/^\| [\w ]+ \| `(\/api\/\S+)` +\| `(\w+)` +\| (.+?) +\|$/gm),
    ([, path = "", list = "", columns = ""]) => ({
      path,
      list,
      columns: Array.from(columns.matchAll(/`(\w+)`/g), ([, name = ""]) => name),
    }),
  );
  expect(table).toHaveLength(3);
  for (const { path, list, columns } of table) {
    const rows = await until(`${path} has rows`, async () => {
      const response = await fetch(address + path);
      const body = z.record(z.string(), z.unknown()).parse(await response.json());
      const found = z.array(z.record(z.string(), z.unknown())).parse(body[list]);
      return found.length > 0 && found;
    });
    expect(Object.keys(rows[0] ?? {})).toEqual(expect.arrayContaining(columns));
  }
  const occupancy = await fetch(`${address}/api/v1/occupancy?from=30d&by=server_name`);
  expect(await occupancy.json()).toMatchObject({ rows: expect.any(Array) });
  const [, command = ""] = /^sandwatch (report .*) > report.csv$/m.exec(page) ?? [];
  const args = Array.from(
    command.matchAll(/"([^"]*)"|(\S+)/g),
    ([, quoted, bare]) => quoted ?? bare ?? "",
  );
  const report = await runCommand(
    args.map((arg) => (arg === "--config" ? "--url" : arg === "sandwatch.yaml" ? address : arg)),
  );
  expect(report).toMatchObject({ code: 0, out: expect.stringMatching(/^(\w+,)+/) });
});

it("receivers of the recipes are valid, and their messages fit", () => {
  expect(receivers.map(({ name }) => name)).toEqual(["oncall", "mattermost", "google-chat"]);
  const configured = receivers.map((receiver) => ({
    ...receiver,
    url: `https://${receiver.name}.example.com/hook`,
  }));
  const base = { regions: { us: { base_url: "https://us.example.com" } } };
  const keys = [{ name: "research", api_key: "simulated-research" }];
  const config = testConfig({ ...base, keys, alerts: { receivers: configured } });
  expect(config.alerts.receivers).toHaveLength(3);

  const incidents = Array.from(
    { length: 1_000 },
    (_, index) => everySubject[index % everySubject.length],
  );
  const longest = new Map([
    ["mattermost", 16_383],
    ["google-chat", 4_096],
  ]);
  for (const { name, body } of receivers) {
    if (!body) continue;
    const known = incidents.flatMap((incident) => incident ?? []);
    const text = z
      .string()
      .parse(compileBody(body.text)(notificationOf({ incidents: known }), 0).body);
    expect(text.length).toBeGreaterThan(100);
    expect(text.length).toBeLessThanOrEqual(longest.get(name) ?? 0);
  }
});
