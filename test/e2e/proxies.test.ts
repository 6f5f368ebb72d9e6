import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { cert, key } from "../support/private-ca.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";
import { openChromium, runClock } from "./support/chromium.ts";
import { freePort, startPeer } from "./support/peer-process.ts";

const document = readFileSync(join(import.meta.dirname, "../../docs/access.md"), "utf8");

function recipeOf(language: string): string {
  const [, recipe] = new RegExp("^```" + language + "\n(.*?)^```$", "ms").exec(document) ?? [];
  if (recipe === undefined) throw new Error(`docs/access.md has no recipe in ${language}`);
  return recipe;
}

/** A folder with the certificate of the proxy. */
function certifiedFolder(): string {
  const folder = tempFolder();
  writeFileSync(join(folder, "tls.crt"), cert);
  writeFileSync(join(folder, "tls.key"), key);
  writeFileSync(join(folder, "tls.pem"), cert + key);
  return folder;
}

/** Starts nginx with a server, and gives its folder. */
async function startNginx(server: (folder: string) => string): Promise<void> {
  const folder = certifiedFolder();
  writeFileSync(join(folder, "htpasswd"), "ann:{PLAIN}wonderland\n");
  const ready = await freePort();
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const settings = `daemon off; user ${userInfo().username}; worker_processes 1;
    pid ${folder}/nginx.pid; error_log stderr; events {}
    http {
      access_log off;
      ${kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join("\n")}
      server { listen 127.0.0.1:${ready}; location / { return 200; } }
      ${server(folder)}
    }`;
  const file = join(folder, "nginx.conf");
  writeFileSync(file, settings);
  const args = ["-p", folder, "-e", join(folder, "error.log"), "-c", file];
  await startPeer("nginx", args, `http://127.0.0.1:${ready}/`);
}

/** A server in error, and what a person does about it in a browser at the address. */
async function actAt(
  world: WatchedWorld,
  url: string,
  options: Parameters<typeof openChromium>[0] = {},
) {
  await world.poll();
  const { page, problems } = await openChromium(options);
  runClock(world);
  await page.goto(url);
  await page.getByText("Live", { exact: true }).waitFor();
  world.show(0, "error");
  await world.poll();
  await page.getByRole("heading", { name: /server in error/ }).waitFor();
  await page.getByRole("link", { name: "Acknowledge" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Acknowledge" });
  await dialog.waitFor();
  return { page, dialog, problems };
}

const authorOf = async (world: WatchedWorld) =>
  (await world.daemon().api(listIncidents, {})).incidents.map((each) => each.acknowledged_by);

const readyLine = (ready: number) => `127.0.0.1:${ready}`;

/** Starts a proxy by its recipe on a port, with ann and her password, in front of an address. */
const proxies: Readonly<Record<string, (port: number, host: string) => Promise<void>>> = {
  nginx: (port, host) =>
    startNginx((folder) =>
      recipeOf("nginx")
        .replace("listen 443", `listen 127.0.0.1:${port}`)
        .replaceAll("/etc/nginx/", `${folder}/`)
        .replace("127.0.0.1:9740", host),
    ),

  async HAProxy(port, host) {
    const folder = certifiedFolder();
    const ready = await freePort();
    const recipe = recipeOf("haproxy")
      .replace(":443", `127.0.0.1:${port}`)
      .replace("/etc/haproxy/ops.example.com.pem", join(folder, "tls.pem"))
      .replace("password HASH", "insecure-password wonderland")
      .replace("127.0.0.1:9740", host);
    const file = join(folder, "haproxy.cfg");
    writeFileSync(
      file,
      `${recipe}
frontend ready
  mode http
  timeout client 5s
  bind ${readyLine(ready)}
  http-request return status 200
`,
    );
    await startPeer("haproxy", ["-db", "-f", file], `http://${readyLine(ready)}/`);
  },

  async Caddy(port, host) {
    const folder = certifiedFolder();
    const ready = await freePort();
    const hash = execFileSync("caddy", ["hash-password", "--plaintext", "wonderland"]);
    const recipe = recipeOf("caddyfile")
      .replace(
        "ops.example.com {",
        `https://ops.test:${port} {\n  tls ${folder}/tls.crt ${folder}/tls.key`,
      )
      // Its name before Caddy 2.8, which Debian does not have yet.
      .replace("basic_auth", "basicauth")
      .replace("HASH", String(hash).trim())
      .replace("127.0.0.1:9740", host);
    const file = join(folder, "Caddyfile");
    writeFileSync(
      file,
      `{
  admin off
  auto_https disable_redirects
}
${recipe}
http://${readyLine(ready)} {
  respond 200
}
`,
    );
    const args = ["run", "--adapter", "caddyfile", "--config", file];
    await startPeer("caddy", args, `http://${readyLine(ready)}/`);
  },
};

describe.each(Object.entries(proxies))("behind %s", (_, startProxy) => {
  it("by the recipe, with TLS, a path and users, the page, its updates and its buttons work", async () => {
    const port = await freePort();
    const url = `https://ops.test:${port}/sandwatch`;
    const world = await watchWorld({
      http: {
        external_url: url,
        trusted_proxies: ["127.0.0.1"],
        auth: {
          proxy: { header: "X-Forwarded-User", trusted: ["127.0.0.1"], role: "operator" },
        },
      },
    });
    const { host } = new URL(await world.address());
    await startProxy(port, host);
    const { page, dialog, problems } = await actAt(world, url, {
      ignoreHTTPSErrors: true,
      httpCredentials: { username: "ann", password: "wonderland" },
    });
    expect(page.url()).toBe(`${url}/`);
    await dialog.getByRole("button", { name: "Acknowledge" }).click();
    await page.getByText("acknowledged by ann").waitFor();
    expect(await authorOf(world)).toEqual(["ann"]);
    expect(problems).toEqual([]);
  });
});

describe("behind nginx", () => {
  it.each([
    ["the Host that nginx sends by default", "127.0.0.1", ""],
    ["a Host without its port", "localhost", "proxy_set_header Host $host;"],
  ])("with %s it works without further settings", async (_, name, setting) => {
    const world = await watchWorld();
    const port = await freePort();
    const address = await world.address();
    await startNginx(
      () => `server { listen 127.0.0.1:${port}; location / { proxy_pass ${address}; ${setting} } }`,
    );
    const { page, dialog, problems } = await actAt(world, `http://${name}:${port}/`);
    await dialog.getByLabel("Your name").fill("bob");
    await dialog.getByRole("button", { name: "Acknowledge" }).click();
    await page.getByText("acknowledged by bob").waitFor();
    expect(await authorOf(world)).toEqual(["bob"]);
    expect(problems).toEqual([]);
  });

  it("with another Host than that of the browser, the log says once which setting to change", async () => {
    const world = await watchWorld();
    const port = await freePort();
    const address = await world.address();
    await startNginx(
      () => `server { listen 127.0.0.1:${port}; location / { proxy_pass ${address}; } }`,
    );
    const { page } = await openChromium();
    for (const _ of [1, 2]) await page.goto(`http://ops.test:${port}/`);
    const refused = world.log.filter(({ event }) => event === "http.refused");
    expect(refused).toMatchObject([
      { reason: "origin", msg: expect.stringContaining("http.external_url must be the address") },
    ]);
  });
});
