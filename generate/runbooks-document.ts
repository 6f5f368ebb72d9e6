import { runbooks, type Step } from "../src/web/pages/runbooks.ts";

const start = `# Runbooks

What to do when an incident fires. The daemon serves these pages itself, at \`/runbooks/NAME\`, to anyone who may read the
[status page](status-page.md): they need no Internet. The pages of incidents link to them, and so do messages if
[\`http.external_url\`](configuration.md#http) is set. A rule's own \`runbook_url\` replaces them. What the rule judges decides
which one applies, whatever the rule is called. What to do about the alerts of Prometheus is in
[Operations](operations.md#the-alerts).

Commands take \`--config FILE\` or \`--url ADDRESS\`.
`;

/** The text of the pages, as a document. */
export function runbooksDocument(): string {
  const texts = runbooks.map(({ name, title, means, look, act, ends }) =>
    [
      `## ${name}`,
      `**${title}.** ${means}`,
      "**Look at:**",
      list(look),
      "**Do:**",
      list(act),
      `**When it ends:** ${ends}`,
    ].join("\n\n"),
  );
  return `${[start, ...texts].join("\n\n").replaceAll(/\n{3,}/g, "\n\n")}\n`;
}

function list(steps: readonly Step[]): string {
  return steps
    .map(({ text, command }) => `- ${text}${command === undefined ? "" : ` \`${command}\``}`)
    .join("\n");
}
