import type { FastifyInstance } from "fastify";
import type { Clock } from "../../lib/clock.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { loadAssets } from "../assets.ts";
import { commandText, html, type Html } from "../html.ts";
import { page, type PageAt } from "./layout.ts";
import { pageRoutes } from "./page-route.ts";

/** What a person does about an incident: a section of `docs/runbooks.md`. */
interface Runbook {
  readonly name: string;
  /** What is wrong, as a heading. */
  readonly title: string;
  readonly means: string;
  /** Titles in bold, paragraphs and lists. */
  readonly rest: readonly string[];
}

/** By the names under which messages link to them: those of the default rules where there is one. */
function readRunbooks(): readonly Runbook[] {
  const [, ...sections] = loadAssets()
    .runbooks.trim()
    .split(/\n+## /);
  return sections.map((section) => {
    const [name = "", first = "", ...rest] = section.split("\n\n");
    const { title, text } = readBlock(first);
    return { name, title, means: text, rest };
  });
}

/** "**When it ends:** It resolves when ..." */
function readBlock(block: string) {
  const [, title = "", text = ""] = /^\*\*(.+?)[.:]\*\*\s*(.*)$/s.exec(block) ?? [];
  return { title, text };
}

export function titleOfRunbook(name: string): string {
  return readRunbooks().find((each) => each.name === name)?.title ?? name;
}

/** Messages link to these pages, so they must work where nothing else does: without the Internet, and on a phone. */
export function addRunbookPages(server: FastifyInstance, { clock }: { readonly clock: Clock }) {
  const { addPage } = pageRoutes(server, clock);
  addPage("/runbooks", (_, at) => renderRunbooks(at));
  addPage("/runbooks/:name", ({ params }, at) => {
    const name: unknown = Object(params).name;
    const runbook = readRunbooks().find((each) => each.name === name);
    if (!runbook) throw new RefusedError("not_found", "There is no such runbook.");
    return renderRunbook(runbook, at);
  });
}

function renderRunbooks(at: PageAt): string {
  return page(
    { title: "Runbooks", section: null, reloads: false, ...at },
    html`<div class="card text">
      <h1>Runbooks</h1>
      <ul>
        ${readRunbooks().map(
          ({ name, title }) => html`<li><a href="runbooks/${name}">${title}</a></li> `,
        )}
      </ul>
    </div>`,
  );
}

function renderRunbook({ name, title, means, rest }: Runbook, at: PageAt): string {
  return page(
    { title, section: null, reloads: false, ...at },
    html`<div class="card text">
      <p class="quiet">Runbook ${name}</p>
      <h1>${title}</h1>
      <p>${prose(means)}</p>
      ${rest.map((block) => (block.startsWith("- ") ? steps(block) : paragraph(block)))}
      <p class="quiet">
        Commands take <code>${commandText(" --config FILE")}</code> or
        <code>${commandText(" --url ADDRESS")}</code>; a container has both set.
        <a href="../incidents">Incidents</a> and <a href="../runbooks">all runbooks</a>.
      </p>
    </div>`,
  );
}

function paragraph(block: string): Html {
  const { title, text } = readBlock(block);
  return html`<h2>${title}</h2>
    ${text === "" ? "" : html`<p>${prose(text)}</p>`}`;
}

/** The command of a step comes last in its line. */
function steps(list: string): Html {
  return html`<ul>
    ${list.split("\n").map((line) => {
      const [, text = "", command = ""] = /^- (.*?)(?: `(sandwatch .*)`)?$/.exec(line) ?? [];
      return html`<li>
        ${prose(text)}${command === "" ? "" : html`<pre><code>${commandText(command)}</code></pre>`}
      </li> `;
    })}
  </ul>`;
}

/** Words between backticks are code. */
function prose(text: string): readonly Html[] {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}
