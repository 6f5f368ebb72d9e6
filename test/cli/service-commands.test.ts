import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Fault } from "../../src/simulator/faults.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** The simulated service as a process, and a configuration for it. */
async function serviceWith({ faults = [], data = {} }: { faults?: Fault[]; data?: object } = {}) {
  const folder = tempFolder();
  const file = (name: string, content: unknown): string => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  };
  const files = ["--faults", file("faults.json", faults), "--data", file("data.json", data)];
  const service = startSandwatch(["simulate", "--port", "0", "--servers", "30", ...files]);
  const [, origin = ""] = /"(http:.+)\/us"/.exec(await service.line("us:")) ?? [];
  const write = (listen: string): string =>
    file(
      "sandwatch.yaml",
      `
        regions: { us: { base_url: "${origin}/us" }, eu: { base_url: "${origin}/eu" } }
        keys: [{ name: research, api_key: simulated-research }]
        poll: { every: 1h }
        store: { path: ${join(folder, "sandwatch.db")} }
        http: { listen: "${listen}" }
        alerts: { receivers: [] }
      `,
    );
  return { origin, write, config: write("127.0.0.1:0") };
}

const ids = ["--user", "user-1", "--client", "client-1"];

it("conformance finds nothing outside in either region of the simulator", async () => {
  const { config, origin } = await serviceWith({ data: { eu: { servers: 3, universes: 1 } } });
  const [us, eu] = await Promise.all([
    runCommand(["conformance", "--config", config, "--region", "us", ...ids]),
    runCommand(["conformance", "--base-url", `${origin}/eu`, "--json"], {
      SANDWATCH_API_KEY: "simulated-research",
    }),
  ]);
  expect(us).toMatchObject({ code: 0, err: "" });
  expect(us.out).toMatch(/^ {2}agrees +local_sandboxes\[\]\.created_at +seen \d+ times$/m);
  expect(us.out).toMatch(/\n\d+ agree, 0 outside, \d+ not seen\n$/);
  expect(eu).toMatchObject({ code: 0, err: "" });
  expect(JSON.parse(eu.out)).toMatchObject({ region: `${origin}/eu`, key: null, outside: 0 });
});

it("conformance and drift find what a deviating service does, also through the daemon that runs", async () => {
  const { write, config: file } = await serviceWith({
    faults: [
      { kind: "reshape", field: "local_sandboxes[].servers[].gpu", value: "T0PSECRET" },
      { kind: "reshape", field: "userId" },
    ],
  });
  const daemon = startSandwatch(["run", "--config", file]);
  const seen = await daemon.line("drift.seen");
  const line = await daemon.line("daemon.started");
  const { address } = z.object({ address: z.string() }).parse(JSON.parse(line));
  const byConfig = ["--config", write(new URL(address).host)];

  const checked = await runCommand(["conformance", ...byConfig, "--region", "eu", ...ids]);
  expect(checked.code).toBe(1);
  expect(checked.err).toBe("There are 2 places outside the interface.\n");
  expect(checked.out).toMatch(/^ {2}OUTSIDE +userId +missing once$/m);
  const ofOne = await runCommand(["conformance", ...byConfig, "--region", "us"]);
  expect(ofOne.err).toBe("There is 1 place outside the interface.\n");
  const asked = await fetch(`${address}/metrics`).then((response) => response.text());
  expect(asked).toContain(
    'sandwatch_api_requests_total{region="eu",operation="get_user",code="200"} 1',
  );

  const ofDaemon = await runCommand(["drift", "--url", address, "--json"]);
  const { drift } = z.object({ drift: z.array(z.looseObject({})) }).parse(JSON.parse(ofDaemon.out));
  const gpu = { field: "local_sandboxes[].servers[].gpu", example: "text of 9 characters" };
  const userId = { operation: "get_user", field: "userId", problem: "missing", regions: ["eu"] };
  expect(drift).toMatchObject([userId, { ...gpu, regions: ["eu", "us"] }]);
  daemon.send("SIGTERM");
  await daemon.ended;
  const ofStore = await runCommand(["drift", ...byConfig]);
  expect(ofStore).toMatchObject({ code: 0, err: "" });
  expect(ofStore.out).toMatch(
    /^list_sandboxes +local_sandboxes\[\]\.servers\[\]\.gpu +unknown_field +eu us/m,
  );
  expect(JSON.stringify([seen, checked, ofDaemon, ofStore])).not.toContain("T0PSECRET");
});

it.each([
  [["--config", "CONFIG"], "There are several regions. Choose one (--region): us, eu."],
  [["--config", "CONFIG", "--region", "uss"], 'Did you mean "us"?'],
  [["--config", "CONFIG", "--region", "us", "--user", ".."], "user: an id of 1 to 1000 characters"],
  [["--base-url", "https://127.0.0.1:1"], "SANDWATCH_API_KEY"],
  [["--base-url", "http://example.com/"], "plain http would show the key"],
  [["--base-url", "ftp://example.com/"], "--base-url must be an address"],
  [["--base-url", "https://127.0.0.1:1", "--region", "us"], "give them without --base-url"],
  [[], "Give either --config FILE or --url ADDRESS"],
])("conformance %j is wrong use", async (args, message) => {
  const config = join(tempFolder(), "sandwatch.yaml");
  writeFileSync(
    config,
    `
      regions: { us: { base_url: "http://127.0.0.1:1" }, eu: { base_url: "http://127.0.0.1:1" } }
      keys: [{ name: research, api_key: simulated-research }]
      store: { path: ${config}.db }
      http: { listen: "127.0.0.1:0" }
      alerts: { receivers: [] }
    `,
  );
  const given = args.map((arg) => arg.replace("CONFIG", config));
  const ended = await runCommand(["conformance", ...given], { SANDWATCH_API_KEY: "" });
  expect(ended).toMatchObject({ code: 2, out: "" });
  expect(ended.err).toContain(message);
});

it.each([
  [{ uss: {} }, "there is no region uss. There are us, eu"],
  [{ us: { users: [{ userId: 7 }] } }, "users"],
  [{ us: { user: 7 } }, "user"],
])("simulate refuses the data %j", async (data, message) => {
  const file = join(tempFolder(), "data.json");
  writeFileSync(file, JSON.stringify(data));
  const ended = await runCommand(["simulate", "--port", "0", "--data", file]);
  expect(ended).toMatchObject({ code: 2, out: "" });
  expect(ended.err).toContain(message);
});
