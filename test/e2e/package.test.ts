import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { z } from "zod";
import { startSimulator } from "../simulator/start-simulator.ts";
import { startProgram } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { until } from "./support/until.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const installed = join(root, "node_modules");

/** Everything that `npm install` of the tarball would bring, without asking a registry for it. */
async function installPackage(): Promise<string> {
  const folder = tempFolder();
  await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: root });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  await run("tar", ["-xzf", join(folder, tarball), "-C", modules]);
  await run("mv", [join(modules, "package"), join(modules, "sandwatch")]);
  const listed = await run("npm", ["ls", "--omit=dev", "--all", "--parseable"], { cwd: root });
  for (const path of listed.stdout.trim().split("\n").slice(1)) {
    const name = path.slice(installed.length + 1);
    // Deeper ones come with what they are in.
    if (name.includes("/node_modules/")) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(path, join(modules, name));
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const { bin } = JSON.parse(readFileSync(join(modules, "sandwatch/package.json"), "utf8"));
  mkdirSync(join(modules, ".bin"));
  for (const [name, file] of Object.entries<string>(bin)) {
    symlinkSync(join("../sandwatch", file), join(modules, ".bin", name));
    chmodSync(join(modules, "sandwatch", file), 0o755);
  }
  return folder;
}

const program = `
import { CallError, createClient, orThrow } from "sandwatch/client";
import type { CallResult, Client, Sandbox, User } from "sandwatch/client";

declare const process: { argv: string[] };
declare const console: { log(text: string): void };

const [, , baseUrl = "", apiKey = ""] = process.argv;
const client: Client = createClient({ baseUrl, apiKey, timeoutMs: 5_000 });
const result: CallResult<User> = await client.getUser("user-1");
const user: string | null = result.kind === "ok" ? result.value.userId : result.detail;
const { sandboxes } = orThrow(await client.listSandboxes());
const first: Sandbox | undefined = sandboxes[0];
const unknown = await client.getUser("a/b?c");
let caught = "";
try {
  orThrow(unknown);
} catch (error) {
  if (error instanceof CallError) caught = error.reason + " " + error.status;
}
const universes = orThrow(await client.listUniverses());
const data = orThrow(await client.getUniverseData(universes[0]?.universeId ?? ""));
const label = orThrow(await client.getWhiteLabel("client-suspended"));
await client.close();
console.log(
  JSON.stringify({ user, servers: first?.servers?.length, caught, data: typeof data, label }),
);
`;

const compilerOptions = {
  module: "nodenext",
  target: "es2024",
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  types: [],
};

it("the package, installed where nothing else is, gives its client to a TypeScript program", async () => {
  const folder = await installPackage();
  const { bases } = await startSimulator();
  writeFileSync(join(folder, "main.ts"), program);
  const settings = { compilerOptions, files: ["main.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const compiled = await run(join(installed, ".bin/tsc"), ["-p", folder]).catch(
    (error: { stdout?: string }) => ({ stdout: `failed: ${error.stdout}` }),
  );
  expect(compiled.stdout).toBe("");
  const main = join(folder, "main.js");
  const ran = await run(process.execPath, [main, bases.get("us") ?? "", "research-key"]);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    user: "user-1",
    servers: expect.any(Number),
    caught: "http_error 404",
    data: "object",
    label: { success: false, message: expect.stringContaining("suspended") },
  });
});

it("the package, installed so, works for a CommonJS program, or TypeScript says how to import it", async () => {
  const folder = await installPackage();
  const source = `import { createClient } from "sandwatch/client"; console.log(typeof createClient);
    declare const console: { log(text: string): void };`;
  writeFileSync(join(folder, "main.cts"), source);
  const compile = async (module: string) => {
    const settings = { compilerOptions: { ...compilerOptions, module }, files: ["main.cts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
    const { stdout = "" } = await run(join(installed, ".bin/tsc"), ["-p", folder]).catch(
      (error: { stdout?: string }) => error,
    );
    return stdout;
  };
  expect(await compile("node16")).toMatch(/TS1479.*'import\("sandwatch\/client"\)' call instead/);
  expect(await compile("node20")).toBe("");
  const ran = await run(process.execPath, [join(folder, "main.cjs")]);
  expect(ran.stdout).toBe("function\n");
});

it("the package, installed so, watches a service, reports on it, and says to an older Node.js what it needs", async () => {
  const folder = await installPackage();
  const { bases } = await startSimulator();
  const file = join(folder, "node_modules/sandwatch/dist/cli.js");
  const config = join(folder, "sandwatch.yaml");
  writeFileSync(
    config,
    `regions: { us: { base_url: "${bases.get("us")}" } }
keys: [{ name: research, api_key: research-key }]
poll: { every: 1s }
store: { path: ${join(folder, "history.db")} }
http: { listen: "127.0.0.1:0" }
`,
  );
  const daemon = startProgram([file, "run", "--config", config]);
  const serving = await daemon.line('"http://127.0.0.1:');
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(serving)?.[0] ?? "";
  const polled = until("two polls", async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return /^sandwatch_polls_total\{.*\} ([2-9]|\d\d)/m.test(metrics);
  });
  const died = daemon.ended.then(({ err }) => Promise.reject(new Error(`it ended: ${err}`)));
  await Promise.race([polled, died]);
  const page = await (await fetch(url)).text();
  const assets = Array.from(page.matchAll(/"(assets\/[^"]+)"/g), ([, path = ""]) => path);
  expect(assets.length).toBeGreaterThan(1);
  for (const path of assets) expect((await fetch(`${url}/${path}`)).status).toBe(200);
  daemon.send("SIGTERM");
  expect(await daemon.ended).toMatchObject({ code: 0 });

  const completion = await run(process.execPath, [file, "completion", "bash"]);
  expect(completion.stdout).toContain("complete -F _sandwatch sandwatch");
  const report = ["report", "--config", config, "--from", "1h ago", "--json"];
  const { stdout } = await run(process.execPath, [file, ...report]);
  const { rows } = JSON.parse(stdout);
  expect(rows).toEqual([expect.objectContaining({ region: "us", key: "research" })]);
  expect(rows[0].occupied_peak).toBeGreaterThan(0);

  const older =
    'data:text/javascript,Object.defineProperty(process, "version", { value: "v20.20.2" })';
  expect(await startProgram(["--import", older, file, "poll"]).ended).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringMatching(/^sandwatch needs Node\.js 24 or later.*\n$/),
  });
});

it("the package, installed so, is run by npx, from a first configuration to a poll", async () => {
  const folder = await installPackage();
  const { bases } = await startSimulator();
  const npx = (...args: readonly string[]) =>
    run("npx", ["--no", "--", "sandwatch", ...args], {
      cwd: folder,
      env: { ...process.env, RESEARCH_API_KEY: "research-key" },
    });
  const region = `us=${bases.get("us")}`;
  const written = await npx("init", "--region", region, "--key", "research");
  expect(written.stdout).toContain("sandwatch.yaml: 1 region, 1 key");
  expect(readdirSync(folder)).toContain("sandwatch.yaml");
  const polled = await npx("poll", "--config", "sandwatch.yaml");
  expect(polled.stdout).toMatch(/^us +research +ok /m);
});

const sbomSchema = z.object({
  components: z.array(
    z.object({
      purl: z.string(),
      licenses: z.array(z.unknown()).min(1),
      properties: z.tuple([z.object({ name: z.literal("sandwatch:bundled"), value: z.string() })]),
    }),
  ),
});

it("the package has a bill of materials of just what it contains and npm installs with it, and the licences of what it contains", async () => {
  const folder = await installPackage();
  const dist = join(folder, "node_modules/sandwatch/dist");
  // The bundler precedes the code of each module with its path.
  const code = globSync("**/*.js", { cwd: dist }).map((name) =>
    readFileSync(join(dist, name), "utf8"),
  );
  const modules = code
    .join("\n")
    .matchAll(/^\s*\/\/ \S*node_modules\/((?:@[^/\s]+\/)?[^/\s]+)\/\S+$/gm);
  const contained = [...new Set(Array.from(modules, ([, name = ""]) => name))].toSorted();
  expect(contained).toEqual(expect.arrayContaining(["kysely", "zod"]));
  for (const name of contained) {
    expect([name, existsSync(join(dist, `licenses/${name}.txt`))]).toEqual([name, true]);
  }

  const versionOf = (name: string): string => {
    const manifest: { version: string } = JSON.parse(
      readFileSync(join(installed, name, "package.json"), "utf8"),
    );
    return `pkg:npm/${name.replace("@", "%40")}@${manifest.version}`;
  };
  const { components } = sbomSchema.parse(
    JSON.parse(readFileSync(join(dist, "sbom.cdx.json"), "utf8")),
  );
  const bundled = components.filter(({ properties: [{ value }] }) => value === "true");
  expect(bundled.map(({ purl }) => purl)).toEqual(contained.map(versionOf));
  // Each version that npm would install, in whichever folder. A development dependency may have installed more.
  const args = ["ls", "--omit=dev", "--all", "--parseable", "--long"];
  const listed = await run("npm", args, { cwd: root });
  const installedPackages = Array.from(
    listed.stdout.matchAll(/:(@?)([^:@\n]+@[^:@\n]+)(?!.*EXTRANEOUS)$/gm),
    ([, scope, each]) => `pkg:npm/${scope ? "%40" : ""}${each}`,
  ).filter((purl) => !purl.startsWith("pkg:npm/sandwatch@"));
  expect(installedPackages.length).toBeGreaterThan(50);
  expect(components.map(({ purl }) => purl).toSorted()).toEqual(
    [...new Set([...installedPackages, ...contained.map(versionOf)])].toSorted(),
  );
});
