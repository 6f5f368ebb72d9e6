import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";

const target = { region: "us", key: "research" };
const apiKey = "simulated-T0PSECRET";

/** A daemon as a process, with one server in error, and a receiver that was told of it. */
async function alerted() {
  const simulator = createSimulator({
    seed: 3,
    clock: systemClock,
    regions: ["us"],
    keys: [{ name: "research", apiKey }],
    servers: 2,
    pace: 0,
    rateLimit: null,
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  const [server] = simulator.truth(target, systemClock.now().utcMs);
  const serverId = server?.serverId ?? "";
  simulator.pin(target, serverId, "error");
  const peer = await startWebhookPeer();
  const folder = tempFolder();
  const config = join(folder, "sandwatch.yaml");
  const write = (address: string): void => {
    writeFileSync(
      config,
      `
        regions: { us: { base_url: "${services.get("us")}" } }
        keys: [{ name: research, api_key: ${apiKey} }]
        poll: { every: 1s }
        store: { path: ${join(folder, "sandwatch.db")} }
        http: { listen: "${address}" }
        alerts:
          receivers:
            - { name: oncall, type: webhook, url: "${peer.url}", secret: "${webhookSecret}", group_wait: 0s }
      `,
    );
  };
  write("127.0.0.1:0");
  const daemon = startSandwatch(["run", "--config", config]);
  const started: { address: string } = JSON.parse(await daemon.line("daemon.started"));
  await peer.received(1);
  // Now that its port is known, commands find the daemon by the configuration.
  write(new URL(started.address).host);
  return {
    config,
    serverId,
    url: started.address,
    stop: async () => {
      daemon.send("SIGTERM");
      const ended = await daemon.ended;
      expect(ended.code).toBe(0);
    },
  };
}

describe("the commands for what people do about alerts", () => {
  it("ask the daemon that runs, and the store when none does", async () => {
    const { config, url, serverId, stop } = await alerted();
    const byConfig = ["--config", config];
    const listed = await runCommand(["incidents", "--state", "firing", "--json", ...byConfig]);
    const { incidents } = JSON.parse(listed.out);
    expect(incidents).toMatchObject([{ state: "firing", server_id: serverId }]);
    const [{ id }] = incidents;

    const acked = await runCommand(["ack", id.slice(0, 13), "--author", "ann", "--url", url]);
    expect(acked).toMatchObject({ code: 0, out: `incident ${id} is acknowledged\n`, err: "" });
    const match = ["--region", "us", "--server-name", "git*", "jira"];
    const said = ["--author", "ann", "--reason", "being moved", "--for", "2h"];
    const added = await runCommand(["silence", "add", ...match, ...said, ...byConfig]);
    expect(added.code).toBe(0);
    expect(added.err).toContain('note: no known server has the server_name "jira"');
    const silenceId = /^silence (\S+) until /.exec(added.out)?.[1] ?? "";

    const following = startSandwatch(["changes", "--follow", "--json", ...byConfig]);
    expect(JSON.parse(await following.line(serverId))).toMatchObject({ to: "error" });
    following.send("SIGINT");
    expect(await following.ended).toMatchObject({ code: 0, err: "" });

    await stop();
    const incidentsAfter = await runCommand(["incidents", ...byConfig]);
    expect(incidentsAfter).toMatchObject({ code: 0, err: "" });
    expect(incidentsAfter.out).toContain(`${id}  firing (acknowledged by ann)`);
    const silences = await runCommand(["silence", "list", ...byConfig]);
    expect(silences.out).toMatch(/in_force .*region=us server_name=git\*\|jira +ann +being moved/);
    const expired = await runCommand(["silence", "expire", silenceId, ...byConfig]);
    expect(expired).toMatchObject({ code: 0, out: `silence ${silenceId} has ended\n` });
    const again = await runCommand(["silence", "expire", silenceId, ...byConfig]);
    expect(again).toMatchObject({ code: 1, out: "" });
    expect(again.err).toContain("has ended already");

    const explained = await runCommand(["explain", serverId.slice(0, 13), ...byConfig]);
    expect(explained).toMatchObject({ code: 0, err: "" });
    expect(explained.out).toMatch(/acknowledged by ann/);
    expect(explained.out).toMatch(/delivery\.taken +oncall accepted: firing/);
    const changed = await runCommand(["changes", "--server", serverId, "--json", ...byConfig]);
    expect(JSON.parse(changed.out)).toMatchObject({ changes: [{ from: "absent", to: "error" }] });
    const letters = await runCommand(["notifications", "--receiver", "oncall", ...byConfig]);
    expect(letters.out).toMatch(/delivered +oncall +incident\.firing/);
    const { notifications } = JSON.parse(
      (await runCommand(["notifications", "--json", ...byConfig])).out,
    );
    const seq = String(notifications.at(-1).seq);
    const shown = await runCommand(["notifications", "show", seq, ...byConfig]);
    expect(shown).toMatchObject({ code: 0, err: "" });
    expect(shown.out).toMatch(/^notification \d+ to oncall: delivered\n[^]*\n\S+Z +taken\n$/);
    const all = [
      listed,
      acked,
      added,
      incidentsAfter,
      silences,
      expired,
      explained,
      letters,
      shown,
    ];
    expect(JSON.stringify(all)).not.toContain("T0PSECRET");
  });

  it("make no store where there is none", async () => {
    const { config, store } = writeConfig(apiKey);
    expect(await runCommand(["changes", "--config", config])).toEqual({
      code: 1,
      out: "",
      err: `There is no store ${store}: no sandwatch has run with this configuration here.\n`,
    });
    expect(existsSync(store)).toBe(false);
  });

  it("say so when nothing answers at the address", async () => {
    const url = `http://${await freeAddress()}`;
    const ended = await runCommand(["incidents", "--url", url]);
    expect(ended).toMatchObject({ code: 1, err: `Nothing listens at ${url}.\n` });
  });

  it.each([
    { args: ["incidents"], says: "either --config FILE or --url" },
    { args: ["incidents", "--url", "x"], says: "--url must be an address" },
    { args: ["incidents", "--url", "http://x", "--config", "y"], says: "cannot be used with" },
    { args: ["ack", "abc", "--url", "http://x"], says: "--author" },
    {
      args: ["silence", "add", "--region", "us", "--author", "ann", "--for", "2h", "--url", "x"],
      says: "--reason",
    },
    {
      args: ["silence", "add", "--region", "us", "--author", "ann", "--reason", "r", "--url", "x"],
      says: "either --for (such as 2h) or --until",
    },
    {
      args: ["silence", "add", "--author", "ann", "--reason", "r", "--for", "2h", "--url", "x"],
      says: "at least one of --rule",
    },
    { args: ["notifications", "replay", "--url", "http://x"], says: "either --seq" },
  ])("are refused with exit code 2 when used wrongly: $args", async ({ args, says }) => {
    const ended = await runCommand(args);
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(ended.err).toContain(says);
  });

  it("leave what is wrong in a request to the desk to say, with exit code 2", async () => {
    const { config, stop } = await alerted();
    const args = ["silence", "add", "--region", "us", "--author", "ann", "--reason", "r"];
    const ended = await runCommand([...args, "--for", "9 days", "--config", config]);
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(ended.err).toContain("duration: a duration such as 30m");

    const said = ["--author", "ann", "--reason", "r"];
    const misspelt = ["silence", "add", "--rule", "server-eror", ...said];
    const added = await runCommand([...misspelt, "--for", "1m", "--config", config]);
    expect(added).toMatchObject({ code: 0, out: expect.stringMatching(/^silence \S+ until/) });
    expect(added.err).toMatch(/^note: no rule is called "server-eror", .*mean "server-error"\?\n$/);
    await stop();
  });
});
