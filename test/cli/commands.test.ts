import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configNotes } from "../../src/cli/check-config.ts";
import { alertmanagerMessageSchema } from "../notify/support/alertmanager-message.ts";
import { pagerdutyEventSchema } from "../notify/support/pagerduty-event.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import type { ReceiverServer } from "../notify/support/receiver-server.ts";
import { writeConfig } from "../support/config-file.ts";
import { listenOnLoopback } from "../support/listen.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { testConfig } from "../support/test-config.ts";

describe("check-config", () => {
  it("prints what a valid configuration has, and notes", async () => {
    const { config } = writeConfig();
    expect(await runCommand(["check-config", "--config", config])).toEqual({
      code: 0,
      out: `${config} is valid: 1 region, 1 key, 1 target, 6 rules, 0 receivers, 0 probes, 0 maintenance windows, 0 reports\nnote: no receivers are configured, so nobody is notified\n`,
      err: "",
    });
  });

  const probe = { name: "login", operation: "user", id: "a", every: "2s" };
  const slow = { ...probe, every: "30s" };
  const failing = { name: "failing", on: "probe", failing: { polls: 3 } };
  const quiet = { name: "quiet", on: "server", status: "unknown", receivers: [] };
  const limit = "requests a minute, but poll.rate_limit allows 120: some will fail";
  const noRule = "there are probes but no rule on probes, so nobody is notified when one fails";
  const noReceivers = "rule quiet has no receivers, so nobody is notified of its incidents";

  it.each<[string, object[], object, readonly string[]]>([
    ["2s", [], {}, []],
    ["1s", [], {}, [`key research needs 180 ${limit}`]],
    ["3s", [probe], { rules: [failing] }, [`key research needs 150 ${limit}`]],
    ["30s", [slow], { rules: [quiet] }, [noRule, noReceivers]],
  ])("notes what is probably not meant: %s %j %j", (every, probes, alerts, notes) => {
    const base_url = "https://sandboxes.example";
    const oncall = { name: "oncall", type: "webhook", url: "https://oncall.example/hook" };
    const config = testConfig({
      regions: { us: { base_url }, eu: { base_url }, ap: { base_url } },
      keys: [{ name: "research", api_key: "a" }],
      poll: { every },
      probes,
      alerts: { receivers: [oncall], ...alerts },
    });
    expect(configNotes(config)).toEqual(notes);
  });

  it("notes entries of NO_PROXY that have no meaning, where a proxy is used", () => {
    const base_url = "https://sandboxes.example";
    const oncall = { name: "oncall", type: "webhook", url: "https://oncall.example/hook" };
    const settings = {
      regions: { us: { base_url } },
      keys: [{ name: "research", api_key: "a" }],
      alerts: { receivers: [oncall] },
    };
    const environment = {
      NO_PROXY: "10.1.2.3/8, 192.168.*,http://u:T0PSECRET@x.example .ok.example",
    };
    const direct = testConfig(settings);
    expect(configNotes(direct, environment)).toEqual([]);
    const proxied = testConfig({ ...settings, outbound: { proxy_url: "http://proxy.example" } });
    expect(configNotes(proxied, environment)).toEqual([
      expect.stringContaining(
        "NO_PROXY has entries that are ignored, so the proxy is used there: 192.168.*, one that is not shown;",
      ),
    ]);
    expect(configNotes(proxied, { no_proxy: "", NO_PROXY: "a.example" })).toEqual([]);
  });
});

describe("test-receiver", () => {
  const sendTo = async (server: ReceiverServer, settings: object): Promise<string> => {
    const receiver = { name: "oncall", url: server.url.reveal(), ...settings };
    const { config } = writeConfig({ alerts: { receivers: [receiver] } });
    const { out, err } = await runCommand(["test-receiver", "oncall", "--config", config]);
    return out + err;
  };
  const bodies = (server: ReceiverServer): readonly unknown[] =>
    server.requests.map(({ body }) => JSON.parse(body));
  const pagerduty = { type: "pagerduty", routing_key: "T0PSECRET".padEnd(32, "0") };

  it("sends an alert and its end, twice", async () => {
    const pager = await startReceiverServer(status(202));
    expect(await sendTo(pager, pagerduty)).toMatch(
      /^oncall accepted the test messages\. It should show/,
    );
    const events = bodies(pager).map((body) => pagerdutyEventSchema.parse(body));
    expect(events.map((event) => event.event_action)).toEqual([
      "trigger",
      "resolve",
      "trigger",
      "resolve",
    ]);
    expect(new Set(events.map((event) => event.dedup_key)).size).toBe(2);
    const alertmanager = await startReceiverServer();
    await sendTo(alertmanager, { type: "webhook", format: "alertmanager" });
    const messages = bodies(alertmanager).map((body) => alertmanagerMessageSchema.parse(body));
    expect(messages.map((message) => message.status)).toEqual([
      "firing",
      "resolved",
      "firing",
      "resolved",
    ]);
  });

  it("sends one and many incidents, marked as tests, firing and resolved", async () => {
    const server = await startReceiverServer();
    await sendTo(server, {
      type: "webhook",
      body: { text: "{{ type }} {{ summary }} {{ count }}" },
    });
    const text = (state: string, servers: string, count: number) => ({
      text: `test Test from sandwatch (${state}): ${servers} in error, as an example ${count}`,
    });
    expect(bodies(server)).toEqual([
      text("firing", "1 server", 1),
      text("resolved", "1 server", 1),
      text("firing", "8 servers", 8),
      text("resolved", "8 servers", 8),
    ]);
  });

  it("fails with the reason of a refusal, and no secret", async () => {
    const server = await startReceiverServer(status(400));
    expect(await sendTo(server, pagerduty)).toBe(
      "oncall did not accept the test message: rejected (HTTP 400)\n",
    );
    expect(await sendTo(server, { ...pagerduty, name: "pager" })).toContain("Configured: pager.");
    expect(server.requests).toHaveLength(1);
  });
});

it("demo prints the addresses first, polls and probes, shows a sandbox in error, and is stopped by Ctrl-C", async () => {
  const faults = join(tempFolder(), "faults.yaml");
  writeFileSync(faults, "[{ kind: status, status: 503, operation: get_user }]");
  const few = ["--servers", "8", "--no-history", "--faults", faults];
  const demo = startSandwatch(["demo", "--host", "127.0.0.2", "--port", "0", ...few]);
  const line = await demo.line("/metrics");
  expect(line).toContain("http://127.0.0.2:");
  await demo.line("lists ");
  const metrics = await fetch(/http:\S+/.exec(line)?.[0] ?? "");
  expect(await metrics.text()).toMatch(/sandwatch_target_up\{[^}]*\} 1/);
  expect(await demo.line(": probe ")).toMatch(/probe login\/\S+ fails: HTTP 503/);
  expect(await demo.line(">>> FIRING (critical) sandbox")).toContain(" in error in us/research");
  demo.send("SIGINT");
  const ended = await demo.ended;
  expect(ended).toMatchObject({ code: 0, err: "" });
  expect(ended.out.indexOf("/metrics")).toBeLessThan(ended.out.indexOf("lists "));
});

it("demo prints its address before it makes the past, and answers there meanwhile", async () => {
  const demo = startSandwatch(["demo", "--servers", "8", "--history", "2", "--port", "0"]);
  const [page = ""] = /http:\S+/.exec(await demo.line("making 2 days")) ?? [];
  const early = await fetch(page);
  expect(early.status).toBe(503);
  expect(early.headers.get("refresh")).toBe("1");
  expect(await demo.line("status page       ")).toContain(page);
  expect(await (await fetch(page)).text()).toContain("<title>");
  demo.send("SIGTERM");
  expect(await demo.ended).toMatchObject({ code: 0, err: "" });
});

it("demo is refused an address that is in use before it makes the past", async () => {
  const port = await listenOnLoopback(createServer());
  const demo = startSandwatch(["demo", "--servers", "8", "--history", "1", "--port", `${port}`]);
  const { code, out, err } = await demo.ended;
  expect(err).toContain(`127.0.0.1:${port} is in use by another process`);
  expect(code).toBe(1);
  expect(out).not.toContain("making");
});

describe("simulate", () => {
  it("serves the simulated service and prints a configuration for it", async () => {
    const listen = ["--host", "127.0.0.2", "--port", "0"];
    const simulate = startSandwatch(["simulate", ...listen, "--regions", "us", "--servers", "4"]);
    const address = /"(http[^"]+)"/.exec(await simulate.line("base_url"))?.[1] ?? "";
    const apiKey = /api_key: (\S+) \}/.exec(await simulate.line("api_key"))?.[1] ?? "";
    expect(address).toMatch(/^http:\/\/127\.0\.0\.2:\d+\/us$/);
    const headers = { authorization: `Bearer ${apiKey}` };
    expect((await fetch(`${address}/local-sandbox`, { headers })).status).toBe(200);
    simulate.send("SIGTERM");
    expect(await simulate.ended).toMatchObject({ code: 0, err: "" });
  });

  it.each([
    ["--faults", [{ kind: "explode" }], "cannot be used"],
    ["--data", { uss: {} }, "the regions of --regions: us, eu"],
    ["--data", { us: { users: [{ userId: 7 }] } }, "users"],
  ])("refuses %s %j with exit code 2", async (option, content, message) => {
    const file = join(tempFolder(), "content.json");
    writeFileSync(file, JSON.stringify(content));
    const ended = await runCommand(["simulate", "--port", "0", option, file]);
    expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
  });
});
