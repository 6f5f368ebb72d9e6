import type { ExplanationView } from "../../api/operations/explain.ts";
import type { ServerView } from "../../api/operations/targets.ts";
import { ageOf, html, type Html } from "../html.ts";
import { shortText, statusOf } from "./fleet-list.ts";
import type { PageAt } from "./layout.ts";
import { sandboxAddress, serverAddress, serversAddress } from "./servers-address.ts";
import type { SandboxPlace } from "./servers-address.ts";
import { nameOf } from "./servers.ts";
import { shellWord } from "./shell-word.ts";
import { elsewhereOf, idText, missingText, renderSubject } from "./subject-page.ts";
import type { SubjectView } from "./subject-page.ts";

/** Where a server is, or was last. */
export interface ServerPlace extends SandboxPlace {
  readonly server_id: string;
}

export interface ServerPageView extends SubjectView {
  readonly place: ServerPlace;
  readonly explanation: ExplanationView;
  /** Undefined: it is gone from there. */
  readonly present: ServerView | undefined;
}

export function renderServer(view: ServerPageView, at: PageAt): string {
  const { place, explanation, present } = view;
  const address = serverAddress(place);
  const name = nameOf(explanation);
  const { region, key, server_id: server } = place;
  const query = new URLSearchParams({ region, key, server });
  return renderSubject(
    view,
    {
      kind: "server",
      section: "Servers",
      title: `${name} · ${present?.status ?? "gone"}`,
      address,
      place,
      targetAddress: serversAddress({ region: [region], key: [key] }),
      heading: html`${name} <span class="id">${idText(server)}</span>`,
      now: nowOf(present, at),
      facts: [
        [
          "Sandbox",
          html`<a class="id" href="${sandboxAddress(place)}">${idText(place.sandbox_id)}</a>`,
        ],
        ["Tags", present ? tagsOf(present) : null],
        ["Benchmark", present?.benchmark ? shortText(present.benchmark) : null],
        ["Missing", missingText(present?.missing ?? 0)],
        [
          "Also listed in",
          elsewhereOf(explanation.listed, address, (each) => serverAddress({ ...place, ...each })),
        ],
      ],
      actions: html`<a class="button" href="server/silence?${query.toString()}" data-act
        >Silence</a
      >`,
      cards: [],
      commands: [
        `sandwatch explain ${shellWord(server)}`,
        `sandwatch report --from 30d --server ${shellWord(server)} --format html`,
      ],
    },
    at,
  );
}

function nowOf(present: ServerView | undefined, { nowMs }: PageAt): Html {
  if (!present) return html`<strong>Gone</strong>: it is not listed there any more.`;
  return html`${statusOf(present)} for ${ageOf(Date.parse(present.since), nowMs)}`;
}

function tagsOf({ tags }: ServerView): Html | null {
  if (tags.length === 0) return null;
  return html`${tags.map(
    (tag) => html`<a href="${serversAddress({ tag: [tag] })}">${shortText(tag)}</a> `,
  )}`;
}
