import { version } from "../../lib/version.ts";
import { loadAssets } from "../assets.ts";
import { html, type Html } from "../html.ts";

/** The pages in the navigation, with their paths below the overview. */
const sections = {
  Overview: "",
  Sandboxes: "sandboxes",
  Servers: "servers",
  Incidents: "incidents",
  Occupancy: "occupancy",
} as const;

export type Section = keyof typeof sections;

/** Where and when a page is rendered. */
export interface PageAt {
  /** The path of the overview relative to the page: "" or "../" any number of times. */
  readonly root: string;
  /** UTC milliseconds. */
  readonly nowMs: number;
  /** The time zone of the reader. */
  readonly zone: string;
}

export interface PageOptions extends PageAt {
  /** Shown by the browser's tab, before the program's name. */
  readonly title: string;
  /** Null: the page belongs to none. */
  readonly section: Section | null;
  /** Whether it reloads by itself without JavaScript, which would undo what is being typed. Default: yes. */
  readonly reloads?: boolean;
  /** Names of files in `browser/` that the page runs, beside `page`. */
  readonly modules?: readonly string[];
}

/** A whole page. Elements with an id and `data-live` are kept current by `browser/live.ts`. */
export function page(
  { title, root, section, nowMs, reloads = true, modules = [] }: PageOptions,
  body: Html | readonly Html[],
): string {
  const links = Object.entries(sections).map(([name, path]) => {
    const href = `${root}${path}` || "./";
    return name === section
      ? html`<a href="${href}" aria-current="page">${name}</a>`
      : html`<a href="${href}">${name}</a>`;
  });
  const assets = loadAssets();
  const asOf = new Date(nowMs).toISOString().slice(11, 19);
  return html`<!doctype html>
    <html lang="en" data-now="${nowMs}" data-root="${root}" data-assets="${assets.hash}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · sandwatch</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${root}${assets.path("style.css")}" />
        ${reloads ? html`<noscript><meta http-equiv="refresh" content="10" /></noscript>` : ""}
        ${["page", ...modules].map((name) => script(`${root}${assets.path(`${name}.js`)}`))}
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <header class="top">
          <a class="name" href="${root === "" ? "./" : root}">sandwatch</a>
          <nav aria-label="Pages">${links}</nav>
          <p class="connection" id="connection">
            <span role="status">As of ${asOf} UTC</span><span class="updated"></span>
          </p>
        </header>
        <main id="main">
          <p id="said" role="status"></p>
          ${body}
        </main>
        <footer>
          sandwatch ${version} · <a href="${root}metrics">metrics</a> ·
          <a href="${root}api/openapi.json">API</a> · <a href="${root}-/healthy">health</a>
        </footer>
      </body>
    </html> `.markup;
}

/** Not as a tagged template: the bundler replaces one in which a script ends by a call of a package that is not installed. */
function script(source: string): Html {
  return { markup: `<script type="module" src="${source}"></script>` };
}
