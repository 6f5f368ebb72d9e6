import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { freeAddress } from "../support/free-address.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import type { SandwatchProcess } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";
import type { WebhookPeer } from "../support/webhook-peer.ts";

interface Site {
  readonly config: string;
  readonly daemon: SandwatchProcess;
  readonly address: string;
  readonly peer: WebhookPeer;
  /** Replaces text in the configuration. */
  edit(text: string, by: string): void;
  reload(headers?: Readonly<Record<string, string>>): Promise<{ status: number; text: string }>;
  /** A metric's value, asked for until it is this. */
  shows(line: string): Promise<void>;
  /** Has a store that is open go on, and cannot be opened again until the version is what this returns. */
  setStoreVersion(version: number): number;
}

/** A daemon that watches one server in error. */
async function startSite(): Promise<Site> {
  const { baseUrl } = await startOneServerService("error");
  const peer = await startWebhookPeer();
  const folder = tempFolder();
  const config = join(folder, "sandwatch.yaml");
  const address = await freeAddress();
  writeFileSync(
    config,
    `
regions: { us: { base_url: "${baseUrl}" } }
keys: [{ name: research, api_key: T0PSECRET }]
poll: { every: 1s }
store: { path: ${join(folder, "sandwatch.db")} }
http: { listen: "${address}" }
alerts:
  rules: [{ name: first, on: server, status: error }]
  receivers: [{ name: oncall, type: webhook, url: "${peer.url}", secret: "${webhookSecret}", group_wait: 0s }]
`,
  );
  const daemon = startSandwatch(["run", "--config", config]);
  await daemon.line("daemon.started");
  const url = `http://${address}`;
  return {
    config,
    daemon,
    address,
    peer,
    edit: (text, by) => writeFileSync(config, readFileSync(config, "utf8").replace(text, by)),
    async reload(headers = {}) {
      const response = await fetch(`${url}/-/reload`, { method: "POST", headers });
      return { status: response.status, text: await response.text() };
    },
    async shows(line) {
      for (;;) {
        const text = await fetch(`${url}/metrics`).then(
          (response) => response.text(),
          () => "",
        );
        if (text.split("\n").includes(line)) return;
      }
    },
    setStoreVersion(version) {
      const database = new DatabaseSync(join(folder, "sandwatch.db"), { timeout: 10_000 });
      const before = database.prepare("pragma user_version").get();
      database.exec(`pragma user_version = ${version}`);
      database.close();
      return Number(before?.["user_version"]);
    },
  };
}

const second = "{ name: second, on: server, status: error, severity: warning }";

describe("reading the configuration again", () => {
  it("is refused while the store takes nothing, and what runs goes on", async () => {
    const site = await startSite();
    await site.peer.attempted(1);
    rmSync(join(dirname(site.config), "sandwatch.db"));
    site.edit("status: error }]", `status: error }, ${second}]`);
    await site.reload();
    const refused = await site.daemon.line("config.refused");
    expect(refused).toContain("was deleted or replaced while sandwatch runs");
    await site.shows("sandwatch_config_last_reload_successful 0");
    site.daemon.send("SIGTERM");
    expect(await site.daemon.ended).toMatchObject({ code: 0 });
  });

  it("is refused where its store cannot be opened, and what runs goes on without a pause", async () => {
    const site = await startSite();
    await site.peer.attempted(1);
    const other = join(dirname(site.config), "other.db");
    writeFileSync(other, "no database, but something dear to somebody");
    site.edit("sandwatch.db", "other.db");
    await site.reload();
    expect(await site.daemon.line("config.refused")).toContain(`${other} is damaged`);
    await site.shows("sandwatch_config_last_reload_successful 0");
    await site.shows('sandwatch_incidents{rule="first",severity="critical",state="firing"} 1');
    site.daemon.send("SIGTERM");
    const { code, out } = await site.daemon.ended;
    expect([code, out.match(/"daemon.started"/g)]).toEqual([0, [expect.any(String)]]);
  });

  it("tries again to open the store that could be opened before, until it can", async () => {
    const site = await startSite();
    await site.peer.attempted(1);
    const version = site.setStoreVersion(1_000_000);
    site.edit("status: error }]", `status: error }, ${second}]`);
    await site.reload();
    await site.daemon.line("store.not_opened");
    site.setStoreVersion(version);
    await site.shows("sandwatch_config_last_reload_successful 0");
    await site.shows('sandwatch_incidents{rule="first",severity="critical",state="firing"} 1');
    site.daemon.send("SIGTERM");
    const { code, out } = await site.daemon.ended;
    expect([code, out.match(/"store.not_opened"/g)]).toEqual([0, [expect.any(String)]]);
  });

  it("stops with success while it tries to open the store again", async () => {
    const site = await startSite();
    await site.peer.attempted(1);
    site.setStoreVersion(1_000_000);
    await site.reload();
    await site.daemon.line("store.not_opened");
    site.daemon.send("SIGTERM");
    expect(await site.daemon.ended).toMatchObject({ code: 0, err: "" });
  });

  it("takes it on, and goes on with the incidents of rules that are as they were", async () => {
    const site = await startSite();
    await site.peer.attempted(1);
    site.edit("status: error }]", `status: error }, ${second}]`);
    expect(await site.reload()).toEqual({
      status: 200,
      text: "the configuration is valid, sandwatch goes on with it\n",
    });
    await site.peer.attempted(2);
    await site.shows('sandwatch_incidents{rule="second",severity="warning",state="firing"} 1');
    await site.shows('sandwatch_incidents{rule="first",severity="critical",state="firing"} 1');
    expect(site.peer.alerts.map(({ data }) => data.rule)).toEqual(["first", "second"]);

    site.edit("{ name: first, on: server, status: error }, ", "");
    site.daemon.send("SIGHUP");
    await site.peer.attempted(3);
    expect(site.peer.alerts.at(-1)).toMatchObject({
      type: "incident.resolved",
      data: { rule: "first", incidents: [{ resolved_reason: "rule_removed" }] },
    });
    site.daemon.send("SIGTERM");
    expect(await site.daemon.ended).toMatchObject({ code: 0, err: "" });
  });

  it("refuses one with faults or that cannot be run, and is not begun by a page of another address: it goes on with the one before", async () => {
    const site = await startSite();
    expect((await site.reload({ origin: "https://evil.example" })).status).toBe(403);

    site.edit("status: error", "status: erorr");
    const refused = await site.reload();
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('did you mean "error"');
    expect(refused.text).not.toContain("T0PSECRET");
    await site.shows("sandwatch_config_last_reload_successful 0");
    await site.shows('sandwatch_incidents{rule="first",severity="critical",state="firing"} 1');
    site.daemon.send("SIGHUP");
    await site.daemon.line("config.refused");

    site.edit("status: erorr", "status: error");
    expect((await site.reload()).status).toBe(200);
    await site.shows("sandwatch_config_last_reload_successful 1");

    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => void taken.close());
    const other = taken.address();
    if (other === null || typeof other === "string") throw new Error("no port");
    site.edit(site.address, `127.0.0.1:${other.port}`);
    expect((await site.reload()).status).toBe(200);
    expect(await site.daemon.line("in use by another program")).toContain("config.refused");
    await site.shows("sandwatch_config_last_reload_successful 0");

    site.daemon.send("SIGTERM");
    const { out } = await site.daemon.ended;
    const begun = out.split("\n").filter((line) => line.includes("daemon.reloading"));
    // The one that was mended, and the one that could not be run.
    expect(begun).toHaveLength(2);
  });

  it("refuses a cron expression with a range beyond all limits, with its place, and goes on", async () => {
    const site = await startSite();
    site.edit("every: 1s", 'schedule: "0-99999999 * * * * *"');
    const refused = await site.reload();
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('4:9 poll.schedule: found "0-99999999 * * * * *"');
    await site.shows("sandwatch_config_last_reload_successful 0");
    await site.shows('sandwatch_incidents{rule="first",severity="critical",state="firing"} 1');
    site.daemon.send("SIGTERM");
    expect(await site.daemon.ended).toMatchObject({ code: 0 });
  });

  it("waits for the start to end, when it is asked for during that", async () => {
    const folder = tempFolder();
    const config = join(folder, "sandwatch.yaml");
    writeFileSync(
      config,
      `
regions: { us: { base_url: "https://us.invalid" } }
keys: [{ name: research, api_key: T0PSECRET }]
store: { path: ${join(folder, "sandwatch.db")} }
http: { listen: "127.0.0.1:0" }
`,
    );
    const daemon = startSandwatch(["run", "--config", config]);
    // That nobody is told of alerts is noted first of all.
    await daemon.line("config.note");
    daemon.send("SIGHUP");
    await daemon.line("daemon.reloading");
    daemon.send("SIGTERM");
    expect(await daemon.ended).toMatchObject({ code: 0, err: "" });
  });
});
