import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "rolldown";
import { openChromium, type OpenedPage } from "../e2e/support/chromium.ts";
import { startPeer } from "../service/peer.ts";

const run = promisify(execFile);

/** The packages of Grafana's front end, and what they expect to be there. */
const packages = {
  "@grafana/data": "13.2.3",
  "@grafana/i18n": "13.2.3",
  "@grafana/ui": "13.2.3",
  react: "19.2.8",
  "react-dom": "19.2.8",
};

/** Kept from run to run. They are no development dependencies, as only this test needs their 400 packages. */
const folder = `/var/tmp/sandwatch-grafana-${packages["@grafana/ui"]}`;

async function install(): Promise<void> {
  if (existsSync(join(folder, "node_modules/.package-lock.json"))) return;
  mkdirSync(folder, { recursive: true });
  const manifest = { private: true, dependencies: packages };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder });
}

/** Opens a page whose `draw` draws panels with Grafana's components. */
export async function openGrafanaPage(): Promise<OpenedPage> {
  await install();
  // The packages are found from there.
  for (const name of ["page.js", "panels.js"]) {
    copyFileSync(join(import.meta.dirname, name), join(folder, name));
  }
  const { output } = await build({
    input: join(folder, "page.js"),
    platform: "browser",
    moduleTypes: { ".css": "text" },
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    output: { codeSplitting: false, minify: false },
    logLevel: "silent",
    write: false,
  });
  const [{ code }] = output;
  const { baseUrl } = await startPeer(({ url }, response) => {
    if (url === "/page.js") {
      response.writeHead(200, { "content-type": "text/javascript" }).end(code);
    } else if (url === "/") {
      const html =
        '<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="/page.js"></script>';
      response.writeHead(200, { "content-type": "text/html" }).end(html);
    } else response.writeHead(404).end();
  });
  const opened = await openChromium({ viewport: { width: 1_280, height: 100 } });
  await opened.page.goto(baseUrl);
  await opened.page.waitForFunction("document.title === 'ready'");
  return opened;
}
