import { closeSync, openSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { openStore } from "../../src/store/store.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { runCommand } from "../support/run-command.ts";
import { runSandwatch, startSandwatch } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";

const target = { region: "us", key: "research" };
const environment = { RESEARCH_API_KEY: "simulated-T0PSECRET" };

interface Site {
  readonly config: string;
  readonly store: string;
  readonly simulator: Simulator;
}

/** A simulated service, and a configuration for it in a folder of its own. */
async function prepare(
  changes: { readonly listen?: string; readonly more?: string } = {},
): Promise<Site> {
  const simulator = createSimulator({
    seed: 3,
    clock: systemClock,
    regions: ["us"],
    keys: [{ name: "research", apiKey: environment.RESEARCH_API_KEY }],
    servers: 3,
    pace: 0,
    rateLimit: null,
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  const folder = tempFolder();
  const config = join(folder, "sandwatch.yaml");
  const store = join(folder, "sandwatch.db");
  writeFileSync(
    config,
    [
      `regions: { us: { base_url: "${services.get("us")}" } }`,
      'keys: [{ name: research, api_key: "${RESEARCH_API_KEY}" }]',
      "poll: { every: 1s }",
      `store: { path: ${store} }`,
      `http: { listen: "${changes.listen ?? "127.0.0.1:0"}" }`,
      changes.more ?? "",
    ].join("\n"),
  );
  return { config, store, simulator };
}

describe("sandwatch run", () => {
  it("serves, stops cleanly at a signal with exit code 0, and starts again on the same store", async () => {
    const { config } = await prepare();
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const daemon = startSandwatch(["run", "--config", config], environment);
      const started: { address: string; msg: string } = JSON.parse(
        await daemon.line("daemon.started"),
      );
      expect(started.msg).toContain(" monitors 1 target; metrics at ");
      const response = await fetch(`${started.address}/metrics`);
      expect(await response.text()).toContain("sandwatch_build_info{");
      daemon.send(signal);
      const ended = await daemon.ended;
      expect(ended).toMatchObject({ code: 0, err: "" });
      expect(ended.out).not.toContain("T0PSECRET");
    }
  });

  it("ends at once at a second signal", async () => {
    const peer = await startWebhookPeer();
    peer.hang();
    const { config, simulator } = await prepare({
      more: `alerts: { receivers: [{ name: oncall, type: webhook, url: "${peer.url}", secret: "${webhookSecret}", group_wait: 0s }] }`,
    });
    const [server] = simulator.truth(target, systemClock.now().utcMs);
    simulator.pin(target, server?.serverId ?? "", "error");
    const daemon = startSandwatch(["run", "--config", config], environment);
    await peer.attempted(1);
    daemon.send("SIGTERM");
    await daemon.line("daemon.stopping");
    daemon.send("SIGTERM");
    expect(await daemon.ended).toMatchObject({ code: null, signal: "SIGTERM" });
  });

  it("refuses a configuration with every fault at once, exit code 2, and starts nothing", async () => {
    const { config, store } = await prepare({ more: "pol: {}\nmetrics: { per_servr: off }" });
    const ended = await runCommand(["run", "--config", config]);
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(ended.err).toContain("RESEARCH_API_KEY");
    expect(ended.err).toContain('did you mean "poll"');
    expect(ended.err).toContain('did you mean "per_server"');
    expect(() => writeFileSync(store, "", { flag: "wx" })).not.toThrow();
  });

  it("refuses a store that another one uses, with exit code 1", async () => {
    const { config, store } = await prepare();
    const holder = openStore(store);
    onTestFinished(() => holder.close());
    const second = await runSandwatch(["run", "--config", config], environment);
    expect(second.code).toBe(1);
    expect(second.err).toBe(
      `The store ${store} is in use by another sandwatch. Stop that one, or give this one another store.path.\n`,
    );
  });

  it("goes on, and still stops at a signal, when its log cannot be written", async () => {
    const peer = await startWebhookPeer();
    const { config, simulator } = await prepare({
      more: `alerts: { receivers: [{ name: oncall, type: webhook, url: "${peer.url}", secret: "${webhookSecret}", group_wait: 0s }] }`,
    });
    const [server] = simulator.truth(target, systemClock.now().utcMs);
    simulator.pin(target, server?.serverId ?? "", "error");
    const full = openSync("/dev/full", "w");
    onTestFinished(() => closeSync(full));
    const daemon = startSandwatch(["run", "--config", config], environment, full);
    await peer.received(1);
    daemon.send("SIGTERM");
    expect(await daemon.ended).toMatchObject({ code: 0, err: "" });
  });

  it("says so in one line when its port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const address = other.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const { config } = await prepare({ listen: `127.0.0.1:${port}` });
    const ended = await runSandwatch(["run", "--config", config], environment);
    expect(ended.code).toBe(1);
    expect(ended.err).toBe(
      `127.0.0.1:${port} is in use by another program. Give another address with http.listen.\n`,
    );
  });

  it("leaves a file that is no store as it is, with exit code 1", async () => {
    const { config, store } = await prepare();
    writeFileSync(store, "not a database, but something dear to somebody");
    const ended = await runSandwatch(["run", "--config", config], environment);
    expect(ended.code).toBe(1);
    expect(ended.err).toContain("is damaged or is no SQLite database");
    expect(ended.err.trimEnd().split("\n")).toHaveLength(1);
  });
});

describe("sandwatch poll", () => {
  it("prints what every target shows, and keeps nothing", async () => {
    const { config, store, simulator } = await prepare();
    const servers = Array.from(simulator.truth(target, systemClock.now().utcMs));
    for (const { serverId } of servers) simulator.pin(target, serverId, "occupied");
    const ended = await runCommand(["poll", "--config", config], environment);
    expect(ended).toMatchObject({ code: 0, err: "" });
    for (const { serverId } of servers)
      expect(ended.out).toMatch(new RegExp(`${serverId}.*occupied`));
    expect(() => writeFileSync(store, "", { flag: "wx" })).not.toThrow();
  });

  it("prints the same as JSON", async () => {
    const { config } = await prepare();
    const ended = await runCommand(["poll", "--config", config, "--json"], environment);
    const { targets } = JSON.parse(ended.out);
    expect(targets).toMatchObject([{ region: "us", key: "research", up: true, complete: true }]);
    expect(targets[0].servers).toHaveLength(3);
    expect(ended.out).not.toContain("T0PSECRET");
  });
});

describe("sandwatch check-config", () => {
  it("says what a valid configuration amounts to", async () => {
    const { config } = await prepare();
    const ended = await runCommand(["check-config", "--config", config], environment);
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.out).toContain("1 region, 1 key, 1 target, 3 rules, 0 receivers");
  });
});

describe("sandwatch test-rules", () => {
  it("says which tests failed and how, and fails itself for it", async () => {
    const file = join(tempFolder(), "rules.test.yaml");
    writeFileSync(
      file,
      `
rules: [{ name: server-error, on: server, status: error }]
tests:
  - { name: good, servers: [{ server: a, timeline: idle }], expect: [] }
  - { name: bad, servers: [{ server: a, timeline: error }], expect: [] }
`,
    );
    const failed = await runCommand(["test-rules", file]);
    expect(failed).toMatchObject({ code: 1, err: "1 of 2 tests failed\n" });
    expect(failed.out).toContain(
      "passed  good\nFAILED  bad\n        sent, not expected:  0s  oncall",
    );

    const passed = await runCommand(["test-rules", "config/rules.test.example.yaml", "--json"]);
    expect(passed).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(passed.out)).toMatchObject({ tests: [{ passed: true }, {}, {}, {}] });

    writeFileSync(file, "tests: [{ name: x, expect: [] }]");
    const faulty = await runCommand(["test-rules", file]);
    expect(faulty).toMatchObject({ code: 2, out: "" });
    expect(faulty.err).toContain("neither config nor rules");
  });
});

describe("sandwatch demo", () => {
  it("prints the addresses first, polls and probes, and is stopped by Ctrl-C", async () => {
    const demo = startSandwatch(["demo", "--port", "0", "--servers", "8", "--no-history"]);
    const line = await demo.line("/metrics");
    await demo.line("lists ");
    const address = /http:\S+/.exec(line)?.[0] ?? "";
    const metrics = await fetch(address);
    expect(await metrics.text()).toMatch(/sandwatch_target_up\{[^}]*\} 1/);
    expect(await demo.line("probe suspended-brand")).toContain("the answer says no success");
    demo.send("SIGINT");
    const ended = await demo.ended;
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.out.indexOf("/metrics")).toBeLessThan(ended.out.indexOf("lists "));
  });
});

describe("sandwatch demo with a past", () => {
  it("makes it before it serves, so that there are changes of hours ago", async () => {
    const args = ["demo", "--port", "0", "--servers", "8", "--keys", "1", "--history", "1"];
    const demo = startSandwatch(args);
    const line = await demo.line("/metrics");
    const address = /http:\S+(?=\/metrics)/.exec(line)?.[0] ?? "";
    const listed = await runCommand(["changes", "--url", address, "--json", "--limit", "1000"]);
    expect(listed).toMatchObject({ code: 0, err: "" });
    const tenHoursAgo = new Date(Date.now() - 10 * 3_600_000).toISOString();
    expect(listed.out).toContain(tenHoursAgo.slice(0, "2026-11-20T09".length));
    demo.send("SIGINT");
    expect(await demo.ended).toMatchObject({ code: 0, err: "" });
  });
});

describe("sandwatch simulate", () => {
  it("serves the simulated service and prints a configuration for it", async () => {
    const listen = ["--host", "127.0.0.2", "--port", "0"];
    const simulate = startSandwatch(["simulate", ...listen, "--regions", "us", "--servers", "4"]);
    const line = await simulate.line("base_url");
    const key = await simulate.line("api_key");
    const address = /"(http[^"]+)"/.exec(line)?.[1] ?? "";
    const apiKey = /api_key: (\S+) \}/.exec(key)?.[1] ?? "";
    expect(address).toMatch(/^http:\/\/127\.0\.0\.2:\d+\/us$/);
    const response = await fetch(`${address}/local-sandbox`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(response.status).toBe(200);
    simulate.send("SIGTERM");
    expect(await simulate.ended).toMatchObject({ code: 0, err: "" });
  });

  it("refuses faults that are none, with exit code 2", async () => {
    const file = join(tempFolder(), "faults.yaml");
    writeFileSync(file, "- { kind: explode }");
    const ended = await runCommand(["simulate", "--port", "0", "--faults", file]);
    expect(ended.code).toBe(2);
    expect(ended.err).toContain(file);
  });
});

describe("wrong use", () => {
  it.each([
    { args: ["run"], says: "--config" },
    { args: ["rum"], says: "Did you mean run?" },
    { args: ["simulate", "--port", "eighty"], says: "It must be a whole number" },
    { args: ["poll", "--config", "/nowhere/at-all.yaml"], says: "/nowhere/at-all.yaml" },
  ])("is refused with exit code 2: $args", async ({ args, says }) => {
    const ended = await runCommand(args);
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(ended.err).toContain(says);
  });

  it("shows help that teaches, with exit code 0", async () => {
    const ended = await runSandwatch(["--help"]);
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.out).toContain("sandwatch demo");
    expect(ended.out).toContain("Exit codes: 0 success, 1 failure, 2 usage");
  });
});
