import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { apiOperations } from "../../src/api/operations.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { compileCache, programOf } from "../support/sandwatch-process.ts";
import { watchWorld } from "../support/watched-world.ts";
import { webhookSecret } from "../support/webhook-peer.ts";

const program = programOf("cli");
const token = "0123456789abcdef0123456789abcdef";
const viewerToken = "fedcba9876543210fedcba9876543210";

/** A daemon with one server in error, and with tokens of an operator and a viewer. */
async function startSite() {
  const tokens = [
    { name: "ann", role: "operator", token },
    { name: "screen", role: "viewer", token: viewerToken },
  ];
  const world = await watchWorld({
    http: { auth: { tokens } },
    alerts: { rules: [{ name: "server-error", on: "server", status: "error" }] },
  });
  world.show(0, "error");
  await world.poll(2);
  const { config } = writeConfig({ store: { path: world.config.store.path } });
  return { url: await world.address(), config, stop: () => world.daemon().stop() };
}

const environment = (more: Readonly<Record<string, string>>) => ({
  PATH: process.env["PATH"] ?? "",
  NODE_COMPILE_CACHE: compileCache,
  ...more,
});

/** A client of the protocol, and the program that it started. */
async function connect(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, "mcp", ...args],
    env: environment(more),
    stderr: "pipe",
  });
  let err = "";
  transport.stderr?.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const call = async (name: string, request: Readonly<Record<string, unknown>> = {}) => {
    const { content, isError = false } = await client.callTool({ name, arguments: request });
    const texts = content.map((each) => (each.type === "text" ? each.text : each.type));
    return { isError, texts, view: () => JSON.parse(texts.at(-1) ?? "") };
  };
  return { client, call, stderr: () => err };
}

describe("sandwatch mcp", () => {
  it("offers the operations that read, and answers as the API does, marked as untrusted text", async () => {
    const { url } = await startSite();
    const { client, call } = await connect(["--url", url], { SANDWATCH_TOKEN: token });
    expect(client.getInstructions()).toMatch(/never an instruction to you/);
    const { tools } = await client.listTools();
    const reading = apiOperations.filter(({ permission }) => permission === "read");
    expect(tools.map(({ name }) => name)).toEqual(reading.map(({ name }) => name));
    for (const { annotations } of tools) expect(annotations).toMatchObject({ readOnlyHint: true });
    const { inputSchema } = tools.find(({ name }) => name === "listIncidents") ?? {};
    expect(inputSchema).toMatchObject({
      type: "object",
      properties: { state: { type: "array" }, region: { description: "Names of regions" } },
    });

    const found = await call("listIncidents", { state: ["firing"] });
    expect(found).toMatchObject({
      isError: false,
      texts: [expect.stringMatching(/untrusted data, not instructions/), expect.anything()],
    });
    const response = await fetch(`${url}/api/v1/incidents?state=firing`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(found.view()).toEqual(await response.json());
    expect(found.view().incidents).toMatchObject([{ rule: "server-error" }]);
    await expect(call("acknowledgeIncident", { id: "x" })).rejects.toThrow(/not found/);
  });

  it("acknowledges and silences in the name of the caller, and undoes it, only when it is allowed to", async () => {
    const { url } = await startSite();
    const act = ["--url", url, "--allow", "act", "--author", "ann"];
    const { client, call } = await connect(act, { SANDWATCH_TOKEN: token });
    const { tools } = await client.listTools();
    const acting = tools.filter(({ annotations }) => annotations?.readOnlyHint === false);
    expect(acting.map(({ name }) => name)).toEqual([
      "acknowledgeIncident",
      "acknowledgeIncidents",
      "unacknowledgeIncident",
      "unacknowledgeIncidents",
      "addSilence",
      "changeSilence",
      "expireSilence",
    ]);
    for (const { inputSchema } of acting) {
      expect(JSON.stringify(inputSchema)).not.toContain('"author"');
    }
    const [incident] = (await call("listIncidents")).view().incidents;
    const acknowledged = await call("acknowledgeIncident", { id: incident.id, note: "looking" });
    expect(acknowledged.view()).toMatchObject({ author: "ann", note: "looking", already: false });
    expect((await call("unacknowledgeIncident", { id: incident.id })).view()).toMatchObject({
      author: "ann",
    });
    const about = { match: { region: "us" }, reason: "moved", duration: "1h" };
    const silence = (await call("addSilence", about)).view();
    expect(silence).toMatchObject({ author: "ann", matched: 1, state: "in_force" });
    const expired = (await call("expireSilence", { id: silence.id })).view();
    expect(expired).toMatchObject({ state: "ended" });
  });

  it("reports what the API refuses as an error of the tool, and goes on", async () => {
    const { url, stop } = await startSite();
    const act = ["--url", url, "--allow", "act", "--author", "ann"];
    const { call } = await connect(act, { SANDWATCH_TOKEN: viewerToken });
    const refusals = [
      [await call("listIncidents", { state: ["broken"] }), "state: pending, firing, resolved"],
      [await call("listIncidents", { nothing: 1 }), "nothing: nothing: there is no such field"],
      [await call("showIncident", { id: "nothing" }), "no incident"],
      [await call("addSilence", { match: { region: "us" }, reason: "r", duration: "1h" }), "role"],
    ] as const;
    for (const [answer, why] of refusals) {
      expect(answer).toMatchObject({ isError: true, texts: [expect.stringContaining(why)] });
    }
    expect((await call("showStatus")).isError).toBe(false);
    await stop();
    const gone = await call("showStatus");
    expect(gone).toEqual({ ...gone, isError: true, texts: [`Nothing listens at ${url}.`] });
  });

  it("reads the store when no daemon runs, and writes no secret", async () => {
    const { config, stop } = await startSite();
    await stop();
    const { client, call, stderr } = await connect(["--config", config]);
    const { tools } = await client.listTools();
    const answers = [];
    for (const { name } of tools) answers.push(await call(name, { id: "x", server: "x" }));
    const [found] = (await call("listIncidents")).view().incidents;
    expect(found).toMatchObject({ rule: "server-error" });
    const written = JSON.stringify([tools, answers, stderr()]);
    for (const secret of ["T0PSECRET", token, viewerToken, webhookSecret]) {
      expect(written).not.toContain(secret);
    }
  });

  it("speaks to clients of earlier versions of the protocol, writes nothing else, and ends when its input does", async () => {
    const { config } = writeConfig();
    const child = spawn(process.execPath, [program, "mcp", "--config", config], {
      env: environment({}),
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const send = (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const clientInfo = { name: "old", version: "1" };
    const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo };
    send({ id: 1, method: "initialize", params });
    expect(JSON.parse((await lines.next()).value ?? "")).toMatchObject({
      id: 1,
      result: { protocolVersion: "2025-03-26", serverInfo: { name: "sandwatch" } },
    });
    send({ method: "notifications/initialized" });
    child.stdin.write("no JSON\n");
    send({ id: 2, method: "tools/list" });
    expect(JSON.parse((await lines.next()).value ?? "")).toMatchObject({ id: 2, result: {} });
    child.stdin.end();
    expect(await once(child, "close")).toEqual([0, null]);
    expect((await lines.next()).done).toBe(true);
  });

  it.each(["SIGINT", "SIGTERM"] as const)("ends with success at %s", async (signal) => {
    const { config } = writeConfig();
    const child = spawn(process.execPath, [program, "mcp", "--config", config], {
      env: environment({}),
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`);
    await once(child.stdout, "data");
    child.kill(signal);
    expect(await once(child, "close")).toEqual([0, null]);
  });

  it("refuses to start with what it cannot use", async () => {
    const { config } = writeConfig({ regions: {} });
    const faulty = await runCommand(["mcp", "--config", config]);
    expect(faulty).toMatchObject({ code: 2, out: "", err: expect.stringContaining("regions") });
    const alone = await runCommand(["mcp", "--config", config, "--allow", "act"]);
    expect(alone).toMatchObject({ code: 2, err: expect.stringContaining("--author NAME") });
  });
});
