import { expect, it } from "vitest";
import { notifications } from "../support/heard.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { watchWorld } from "../support/watched-world.ts";

const reason = ["--author", "ann", "--reason", "being moved"];

it("the commands about alerts call the daemon that runs, and those that read use the store when none does", async () => {
  // What the commands do without a daemon has the time of this machine.
  const world = await watchWorld({ startsAtMs: Date.now() - 60_000 });
  world.show(0, "error");
  await world.poll();
  const [url, store] = [await world.address(), { path: world.config.store.path }];
  const { config } = writeConfig({ store, http: { listen: new URL(url).host } });
  const run = (...args: readonly string[]) => runCommand([...args, "--config", config]);

  const { incidents } = JSON.parse((await run("incidents", "--state", "firing", "--json")).out);
  const [{ id, server_id: serverId }] = incidents;
  expect(incidents).toMatchObject([{ state: "firing", server_id: world.serverIds[0] }]);
  const acked = await runCommand(["ack", id.slice(0, 6), "--author", "ann", "--url", url]);
  expect(acked).toEqual({ code: 0, out: `incident ${id} is acknowledged\n`, err: "" });
  const selection = ["--rule", "server-error", "--server", serverId, "--region", "us"];
  const already = await run("ack", ...selection, "--author", "bob");
  expect(already.out).toBe("1 firing incident matched: 0 acknowledged now, 1 before\n");
  const undone = await run("unack", id.slice(0, 6), "--author", "bob");
  const by = `the acknowledgement of incident ${id} by ann is withdrawn\n`;
  expect(undone).toMatchObject({ code: 0, out: by });
  const none = await run("unack", "--rule", "server-error", "--author", "bob");
  expect(none.out).toBe("0 acknowledgements withdrawn\n");
  expect((await run("unack", "--author", "bob")).err).toContain("Give the id of an incident");
  const forHours = await run("ack", "--all", "--author", "ann", "--for", "4h");
  expect(forHours.out).toContain("1 acknowledged now");
  const match = ["--region", "us", "--server-name", "git*", "jira"];
  const added = await run("silence", "add", ...match, ...reason, "--for", "2h", "--force");
  expect(added.code).toBe(0);
  expect(added.out).toContain("; it matches 0 firing incidents\n");
  expect(added.err).toContain('note: no known server or sandbox has the server_name "jira"');
  const [, silence = ""] = /^silence (\S+) until /.exec(added.out) ?? [];
  const prolonged = await run("silence", "change", silence, "--for", "4h", "--author", "bob");
  expect(prolonged.out).toMatch(/^silence \S+ until [-\d]{10} \d\d:\d\d \([\w/]+\)\n$/);
  const equal = await run("silence", "add", ...match, ...reason, "--for", "5h", "--force");
  expect(equal.out).toContain(`silence ${silence}, which matches the same, is prolonged until `);
  const misspelt = await run("silence", "add", "--rule", "server-eror", ...reason, "--for", "1m");
  expect(misspelt).toMatchObject({ code: 2, out: "" });
  expect(misspelt.err).toMatch(/^The silence was not added: .*mean "server-error"\?.*--force/);
  const wrong = await run("silence", "add", ...match, ...reason, "--for", "9 days");
  expect(wrong).toMatchObject({ code: 2, out: "" });
  expect(wrong.err).toContain("duration: a duration such as 30m");
  const following = startSandwatch(["changes", "--follow", "--json", "--config", config]);
  expect(JSON.parse(await following.line(serverId))).toMatchObject({ to: "error" });
  following.send("SIGINT");
  expect(await following.ended).toMatchObject({ code: 0, err: "" });

  const silences = await run("silence", "list");
  expect(silences.out).toMatch(/in force .*region=us server_name=git\*\|jira +ann +being moved/);
  const expired = await run("silence", "expire", silence);
  expect(expired).toEqual({ code: 0, out: `silence ${silence} has ended\n`, err: "" });
  const again = await run("silence", "expire", silence);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining("has ended already") });

  await world.daemon().stop();
  expect((await run("incidents")).out).toContain(`${id}  firing (acknowledged by ann)`);
  expect((await run("silence", "list", "--ended")).out).toContain(silence);
  const explained = await run("explain", serverId.slice(0, 13));
  expect(explained.out).toMatch(/acknowledged by ann/);
  expect(explained.out).toMatch(/^ {2}error for \d+ \w+ in us\/research, sandbox /m);
  expect(explained.out).toMatch(/delivery\.taken +oncall accepted: firing/);
  const { servers } = JSON.parse((await run("servers", "--server", serverId, "--json")).out);
  const sandbox = await run("explain", servers[0].sandbox_id.slice(0, 13));
  expect(sandbox.out).toContain(`sandbox ${servers[0].sandbox_id}\n`);
  expect(sandbox.out).toMatch(/sandbox\.changed +absent -> \w+ in us\/research/);
  const nothing = await run("explain", "no-such-id");
  expect(nothing).toMatchObject({ code: 1, out: "" });
  expect(nothing.err).toContain('No known server or sandbox matches "no-such-id"');
  const changed = await run("changes", "--server", serverId, "--json");
  expect(JSON.parse(changed.out)).toMatchObject({ changes: [{ from: "absent", to: "error" }] });
  expect(notifications(world)).toEqual(["server-error firing"]);
  const listed = await run("notifications", "--receiver", "oncall");
  const [, seq = ""] = /^(\d+) +delivered +oncall +firing/m.exec(listed.out) ?? [];
  const shown = await run("notifications", "show", seq);
  expect(shown.out).toContain("\n  attempts 1, 1 of them stored\n");
  expect(shown.out).toMatch(/^notification \d+ to oncall: delivered\n[^]*\n\d+ \w+ ago +taken\n$/);
});

it("commands fail when nothing listens at the address", async () => {
  const url = `http://${await freeAddress()}`;
  const ended = await runCommand(["incidents", "--url", url]);
  expect(ended).toEqual({ code: 1, out: "", err: `Nothing listens at ${url}.\n` });
});
