import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { createReloads } from "../../src/cli/run.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { startPeer } from "../service/peer.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { freeAddress } from "../support/free-address.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { testConfig } from "../support/test-config.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";

const first = { name: "first", on: "server", status: "error" };
const second = { name: "second", on: "server", status: "error", severity: "warning" };
const both = [JSON.stringify([first]), JSON.stringify([first, second])] as const;
const failed = "sandwatch_config_last_reload_successful 0";
const firing = 'sandwatch_incidents{rule="first",severity="critical",state="firing"} 1';

/** A daemon that watches one server in error, of which it has notified. */
async function startSite() {
  const { baseUrl } = await startOneServerService("error");
  const peer = await startWebhookPeer();
  const address = await freeAddress();
  const receiver = { name: "oncall", type: "webhook", url: peer.url, secret: webhookSecret };
  const { config, store } = writeConfig({
    regions: { us: { base_url: baseUrl } },
    poll: { every: "1s" },
    http: { listen: address },
    alerts: { rules: [first], receivers: [{ ...receiver, group_wait: "0s" }] },
  });
  const daemon = startSandwatch(["run", "--config", config]);
  await peer.attempted(1);
  const url = `http://${address}`;
  const metrics = () => fetch(`${url}/metrics`).then((response) => response.text());
  return {
    store,
    daemon,
    config,
    address,
    peer,
    /** Replaces text in the configuration. */
    edit: (text: string, by: string) =>
      writeFileSync(config, readFileSync(config, "utf8").replace(text, by)),
    reload: async (headers: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(`${url}/-/reload`, { method: "POST", headers });
      return { status: response.status, text: await response.text() };
    },
    /** Resolves when the metrics have a line. */
    shows: async (line: string): Promise<void> => {
      while (!(await metrics().catch(() => "")).split("\n").includes(line));
    },
    /** Sets the version of the store: of another one, it can still be used but not be opened. */
    setStoreVersion: (version: number): number => {
      using database = new DatabaseSync(store, { timeout: 10_000 });
      const before = database.prepare("pragma user_version").get();
      database.exec(`pragma user_version = ${version}`);
      return Number(before?.["user_version"]);
    },
    stop: async (): Promise<string> => {
      daemon.send("SIGTERM");
      const { code, out, err } = await daemon.ended;
      expect([code, err]).toEqual([0, ""]);
      return out;
    },
  };
}

const countOf = (text: string, part: string): number => text.split(part).length - 1;

describe("a reload", () => {
  it("applies the configuration, continues the incidents of unchanged rules, and refuses faults and requests of another site", async () => {
    const { edit, reload, shows, peer, daemon, stop } = await startSite();
    edit(...both);
    expect((await reload()).status).toBe(200);
    await peer.attempted(2);
    await shows('sandwatch_incidents{rule="second",severity="warning",state="firing"} 1');
    await shows(firing);
    expect(peer.alerts.map(({ data }) => data.rule)).toEqual(["first", "second"]);

    expect((await reload({ origin: "https://evil.example" })).status).toBe(403);
    edit('"error"', '"erorr"');
    const refused = await reload();
    expect(refused).toMatchObject({ status: 400 });
    expect(refused.text).toContain('did you mean "error"');
    expect(refused.text).not.toContain("T0PSECRET");
    await shows(failed);
    await shows(firing);
    daemon.send("SIGHUP");
    await daemon.line("config.refused");
    edit('"erorr"', '"error"');
    edit(both[1], JSON.stringify([second]));
    daemon.send("SIGHUP");
    await peer.attempted(3);
    expect(peer.alerts.at(-1)).toMatchObject({
      type: "incident.resolved",
      data: { rule: "first", incidents: [{ resolved_reason: "rule_removed" }] },
    });
    await shows("sandwatch_config_last_reload_successful 1");
    expect(countOf(await stop(), "daemon.reloading")).toBe(2);
  });

  it("by the command prints what the daemon says, fails with the faults of a configuration, and reads no secrets, which only the daemon may be able to read", async () => {
    const { edit, config, address, daemon, stop } = await startSite();
    const url = `http://${address}`;
    const accepted = { code: 0, out: "the configuration is valid and is applied now\n", err: "" };
    expect(await runCommand(["reload", "--config", config])).toEqual(accepted);
    await daemon.lines('"daemon.started"', 2);
    edit('"error"', '"erorr"');
    for (const from of [
      ["--config", config],
      ["--url", url],
    ]) {
      const refused = await runCommand(["reload", ...from]);
      expect(refused).toMatchObject({ code: 2, out: "" });
      expect(refused.err).toContain('did you mean "error"');
    }
    edit('"erorr"', '"error"');

    const key = join(dirname(config), "key");
    writeFileSync(key, "simulated-T0PSECRET");
    edit('"api_key":"simulated-T0PSECRET"', `"api_key_file":${JSON.stringify(key)}`);
    expect(await runCommand(["reload", "--config", config])).toMatchObject({ code: 0 });
    await daemon.lines('"daemon.started"', 3);
    rmSync(key);
    const refused = await runCommand(["reload", "--config", config]);
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringContaining("The daemon refuses its configuration"),
    });

    edit(address, await freeAddress());
    const moved = await runCommand(["reload", "--config", config]);
    expect(moved).toMatchObject({
      code: 1,
      err: expect.stringContaining("http.listen was changed"),
    });
    await stop();
    const lost = await runCommand(["reload", "--url", url]);
    expect(lost).toEqual({ code: 1, out: "", err: `Nothing listens at ${url}.\n` });
    const other = await startPeer((_, response) => response.writeHead(404).end("nothing here"));
    const foreign = await runCommand(["reload", "--url", other.baseUrl]);
    expect(foreign).toMatchObject({ code: 1, err: expect.stringContaining("is not a sandwatch") });
  });

  it("returns to the previous configuration when its address is in use or its store cannot be opened, and is refused while the present store cannot be used", async () => {
    const { edit, reload, shows, setStoreVersion, daemon, address, store, stop } =
      await startSite();
    const taken = new URL((await startPeer(() => {})).baseUrl).host;
    edit(address, taken);
    expect((await reload()).status).toBe(200);
    expect(await daemon.line("is in use by another process")).toContain("config.refused");
    await shows(failed);
    edit(taken, address);

    const other = join(dirname(store), "other.db");
    writeFileSync(other, "no database, but something dear to somebody");
    edit("sandwatch.db", "other.db");
    await reload();
    expect(await daemon.line(`${other} is damaged`)).toContain("config.refused");
    await shows(failed);
    await shows(firing);
    edit("other.db", "sandwatch.db");

    // It retries to open the previous store until it can.
    const version = setStoreVersion(1_000_000);
    await reload();
    await daemon.line("store.not_opened");
    setStoreVersion(version);
    await shows(failed);
    await shows(firing);

    rmSync(store);
    await reload();
    await daemon.line("was deleted or replaced while sandwatch runs");
    const out = await stop();
    expect([countOf(out, '"store.not_opened"'), countOf(out, '"daemon.started"')]).toEqual([1, 3]);
  });
});

it("by the command finds the daemon at an address that others can reach, without its tokens", () => {
  const tokens = [{ name: "ann", role: "admin", token_file: "/nowhere" }];
  const { config } = writeConfig({ http: { listen: ":9740", auth: { tokens } } });
  const loaded = loadConfig(config, {}, { withoutSecrets: true, keepsAddress: true });
  expect(loaded).toMatchObject({ kind: "ok", config: { http: { port: 9740 } } });
});

it("of configurations read while another one is applied, the latest is next", async () => {
  const names = ["first", "second", "third"];
  const load = () =>
    testConfig({
      keys: [{ name: names.shift(), api_key: "T0PSECRET" }],
      regions: { us: { base_url: "https://us.example.com" } },
    });
  const reloads = createReloads(load, createFakeClock());
  const request = (): void => {
    const answer = reloads.request();
    if (answer.kind === "accepted") answer.begin();
  };
  const nextKey = async (): Promise<unknown> => (await reloads.next()).keys[0]?.name;
  request();
  expect(await nextKey()).toBe("first");
  request();
  request();
  reloads.failed();
  expect(reloads.last().successful).toBe(true);
  expect(await nextKey()).toBe("third");
  reloads.failed();
  expect(reloads.last().successful).toBe(false);
});
