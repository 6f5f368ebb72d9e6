import type { FastifyInstance } from "fastify";
import type { Clock } from "../../lib/clock.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { commandText, html, type Html } from "../html.ts";
import { page, type PageAt } from "./layout.ts";
import { pageRoutes } from "./page-route.ts";
import { runbooks, type Runbook, type Step } from "./runbooks.ts";

/** Messages link to these pages, so they must work where nothing else does: without the Internet, and on a phone. */
export function addRunbookPages(server: FastifyInstance, { clock }: { readonly clock: Clock }) {
  const { addPage } = pageRoutes(server, clock);
  addPage("/runbooks", (_, at) => renderRunbooks(at));
  addPage("/runbooks/:name", ({ params }, at) => {
    const name: unknown = Object(params).name;
    const runbook = runbooks.find((each) => each.name === name);
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
        ${runbooks.map(({ name, title }) => html`<li><a href="runbooks/${name}">${title}</a></li> `)}
      </ul>
    </div>`,
  );
}

function renderRunbook({ name, title, means, look, act, ends }: Runbook, at: PageAt): string {
  return page(
    { title, section: null, reloads: false, ...at },
    html`<div class="card text">
      <p class="quiet">Runbook ${name}</p>
      <h1>${title}</h1>
      <p>${prose(means)}</p>
      <h2>Look at</h2>
      ${steps(look)}
      <h2>Do</h2>
      ${steps(act)}
      <h2>When it ends</h2>
      <p>${prose(ends)}</p>
      <p class="quiet">
        Commands take <code>${commandText(" --config FILE")}</code> or
        <code>${commandText(" --url ADDRESS")}</code>; a container has both set.
        <a href="../incidents">Incidents</a> and <a href="../runbooks">all runbooks</a>.
      </p>
    </div>`,
  );
}

function steps(some: readonly Step[]): Html {
  return html`<ul>
    ${some.map(
      ({ text, command }) =>
        html`<li>
          ${prose(text)}${command === undefined ? "" : html`<pre><code>${commandText(command)}</code></pre>`}
        </li> `,
    )}
  </ul>`;
}

/** Words between backticks are code. */
function prose(text: string): readonly Html[] {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}
