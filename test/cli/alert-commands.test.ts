import { describe, expect, it } from "vitest";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";

/** A daemon as a process, with one server in error, of which it has notified. */
async function startAlerted() {
  const { baseUrl } = await startOneServerService("error");
  const peer = await startWebhookPeer();
  const receiver = { name: "oncall", type: "webhook", url: peer.url, secret: webhookSecret };
  const folder = tempFolder();
  const configOf = (listen: string): string =>
    writeConfig(
      {
        regions: { us: { base_url: baseUrl } },
        keys: [{ name: "research", api_key: "T0PSECRET" }],
        poll: { every: "1s" },
        http: { listen },
        alerts: { receivers: [{ ...receiver, group_wait: "0s" }] },
      },
      folder,
    ).config;
  const daemon = startSandwatch(["run", "--config", configOf("127.0.0.1:0")]);
  const started: { address: string } = JSON.parse(await daemon.line("daemon.started"));
  await peer.received(1);
  const stop = async (): Promise<void> => {
    daemon.send("SIGTERM");
    expect(await daemon.ended).toMatchObject({ code: 0 });
  };
  // Now that its port is known, commands find the daemon by the configuration.
  return { url: started.address, config: configOf(new URL(started.address).host), stop };
}

const reason = ["--author", "ann", "--reason", "being moved"];

describe("the commands about alerts", () => {
  it("call the daemon that runs, and use the store when none does", async () => {
    const { config, url, stop } = await startAlerted();
    const outputs: string[] = [];
    const run = async (...args: readonly string[]) => {
      const ended = await runCommand([...args, "--config", config]);
      outputs.push(ended.out, ended.err);
      return ended;
    };
    const { incidents } = JSON.parse((await run("incidents", "--state", "firing", "--json")).out);
    const [{ id, server_id: serverId }] = incidents;
    expect(incidents).toMatchObject([{ state: "firing", subject: "server" }]);

    const acked = await runCommand(["ack", id.slice(0, 6), "--author", "ann", "--url", url]);
    expect(acked).toEqual({ code: 0, out: `incident ${id} is acknowledged\n`, err: "" });
    const selection = ["--rule", "server-error", "--server", serverId, "--region", "us"];
    const already = await run("ack", ...selection, "--author", "bob");
    expect(already.out).toBe("1 firing incident matched: 0 acknowledged now, 1 before\n");
    const match = ["--region", "us", "--server-name", "git*", "jira"];
    const added = await run("silence", "add", ...match, ...reason, "--for", "2h");
    expect(added.code).toBe(0);
    expect(added.out).toContain("; it matches 0 firing incidents\n");
    expect(added.err).toContain('note: no known server has the server_name "jira"');
    const [, silence = ""] = /^silence (\S+) until /.exec(added.out) ?? [];
    const misspelt = await run("silence", "add", "--rule", "server-eror", ...reason, "--for", "1m");
    expect(misspelt.err).toMatch(/^note: no rule is called "server-eror"; .*mean "server-error"\?/);
    const wrong = await run("silence", "add", ...match, ...reason, "--for", "9 days");
    expect(wrong).toMatchObject({ code: 2, out: "" });
    expect(wrong.err).toContain("duration: a duration such as 30m");

    const following = startSandwatch(["changes", "--follow", "--json", "--config", config]);
    expect(JSON.parse(await following.line(serverId))).toMatchObject({ to: "error" });
    following.send("SIGINT");
    expect(await following.ended).toMatchObject({ code: 0, err: "" });

    await stop();
    expect((await run("incidents")).out).toContain(`${id}  firing (acknowledged by ann)`);
    const silences = await run("silence", "list");
    expect(silences.out).toMatch(/in_force .*region=us server_name=git\*\|jira +ann +being moved/);
    const expired = await run("silence", "expire", silence);
    expect(expired).toEqual({ code: 0, out: `silence ${silence} has ended\n`, err: "" });
    const again = await run("silence", "expire", silence);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining("has ended already") });

    const explained = await run("explain", serverId.slice(0, 13));
    expect(explained.out).toMatch(/acknowledged by ann/);
    expect(explained.out).toMatch(/delivery\.taken +oncall accepted: firing/);
    const changed = await run("changes", "--server", serverId, "--json");
    expect(JSON.parse(changed.out)).toMatchObject({ changes: [{ from: "absent", to: "error" }] });
    const listed = await run("notifications", "--receiver", "oncall");
    const [, seq = ""] = /^(\d+) +delivered +oncall +incident\.firing/m.exec(listed.out) ?? [];
    const shown = await run("notifications", "show", seq);
    expect(shown.out).toMatch(/^notification \d+ to oncall: delivered\n[^]*\n\S+Z +taken\n$/);
    expect(outputs.join("")).not.toContain("T0PSECRET");
  });

  it("fail when nothing listens at the address", async () => {
    const url = `http://${await freeAddress()}`;
    const ended = await runCommand(["incidents", "--url", url]);
    expect(ended).toEqual({ code: 1, out: "", err: `Nothing listens at ${url}.\n` });
  });

  it.each([
    [["incidents"], "either --config FILE or --url"],
    [["incidents", "--url", "x"], "--url must be an address"],
    [["incidents", "--url", "http://x", "--config", "y"], "cannot be used with"],
    [["ack", "abc", "--url", "http://x"], "--author"],
    [["ack", "--author", "ann", "--url", "http://x"], "--server or --all"],
    [["ack", "abc", "--all", "--author", "ann", "--url", "http://x"], "--server or --all"],
    [["silence", "add", "--region", "us", "--author", "ann", "--url", "http://x"], "--reason"],
    [["silence", "add", ...reason, "--for", "2h", "--url", "http://x"], "or --all"],
    [["silence", "add", "abc", "--all", ...reason, "--for", "2h", "--url", "http://x"], "or --all"],
    [["silence", "add", "--region", "us", ...reason, "--url", "http://x"], "--for, such as 2h"],
    [["notifications", "replay", "--url", "http://x"], "either --seq"],
  ])("refuse wrong use with exit code 2: %j", async (args, message) => {
    const ended = await runCommand(args);
    expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
  });
});
