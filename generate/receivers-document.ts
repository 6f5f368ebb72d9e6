import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

const root = join(import.meta.dirname, "..");

/** The places of messages; the rest of the document is written by hand. */
const places = /(<!-- messages of (\S+) -->\n)[\s\S]*?(<!-- end of messages -->)/g;

/** The document with abridged messages of each type, from those that test/notify/golden.test.ts compares. */
export function receiversDocument(): string {
  const document = readFileSync(join(root, "docs/receivers.md"), "utf8");
  return document.replace(places, (_, begin: string, format: string, end: string) => {
    const [one, many] = ["# 1 ", "# 300 "].map((beginning) => firingIn(format, beginning));
    const shown = shownText[format];
    const [ofOne, ofMany] = shown
      ? [fenced("text", shown(one)), fenced("text", shown(many))]
      : [fenced("json", json(one)), fenced("text", countsText(many))];
    return `${begin}\n${ofOne}\nOf 300 incidents:\n\n${ofMany}\n${end}`;
  });
}

/** The firing message of a file of messages whose heading has this beginning. */
function firingIn(format: string, beginning: string): unknown {
  const file = readFileSync(join(root, `test/notify/golden/${format}.txt`), "utf8");
  const heading = `${beginning}incident.firing\n`;
  const [, text = ""] = `\n${file}`.split(`\n${heading}`);
  return parse(text.split("\n# ")[0] ?? "");
}

function fenced(language: string, shown: string): string {
  return `\`\`\`${language}\n${shown}\n\`\`\`\n`;
}

const longestLine = 100;

/** What fits in a line is in one line. */
function json(value: unknown, indent = ""): string {
  const line = JSON.stringify(value, null, 1).replaceAll(/\n */g, " ");
  if (typeof value !== "object" || value === null) return line;
  if (indent.length + line.length <= longestLine) return line;
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(
    ([name, item]) => `${inner}${isList ? "" : `"${name}": `}${json(item, inner)}`,
  );
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  return [open, parts.join(",\n"), `${indent}${close}`].join("\n");
}

function countsText(message: unknown): string {
  return json(counting(message)).replaceAll(/"(\(\d+ more\)|\{…\})"/g, "$1");
}

/** What says how many incidents there are. */
const counts = new Set(["summary", "count", "truncated", "truncatedAlerts", "incidents", "alerts"]);

/** A message without what does not depend on how many incidents it is about. */
function counting(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map((item: unknown) => (typeof item === "string" ? item : "{…}"));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => {
      const isObject = typeof item === "object" && !Array.isArray(item);
      const part = isObject || counts.has(name) ? counting(item) : undefined;
      return part === undefined || JSON.stringify(part) === "{}" ? [] : [[name, part]];
    }),
  );
}

/** Formats that people read: as their applications show them, links as their texts in brackets. */
const shownText: Readonly<Record<string, (message: unknown) => string>> = {
  slack: slackText,
  discord(message) {
    const { content, embeds } = discordSchema.parse(message);
    const [embed] = embeds;
    return [content, embed?.title, embed?.description]
      .join("\n")
      .replaceAll(/<t:\d+:f>/g, "today 09:30")
      .replaceAll(/\]\([^)]*\)/g, "]")
      .replaceAll(/\\(?=\W)/g, "");
  },
  teams(message) {
    const cards = teamsSchema.parse(message).attachments.map(({ content }) => content);
    const lines = cards.flatMap(({ body }) => body).map((each) => textOfBlock(each));
    const links = cards.flatMap(({ actions }) => actions).map(({ title }) => `[${title}]`);
    return [...lines, links.join("  ")].join("\n");
  },
  telegram: (message) =>
    text
      .parse(message)
      .text.replaceAll(/<a [^>]*>([^<]*)<\/a>/g, "[$1]")
      .replaceAll(/<[^>]*>/g, ""),
  email(message) {
    const { subject, text: shown } = emailSchema.parse(message);
    return `Subject: ${subject}\n\n${shown}`;
  },
  ntfy(message) {
    const { title, message: shown, actions } = ntfySchema.parse(message);
    return [title, shown, actions.map(({ label }) => `[${label}]`).join("  ")].join("\n");
  },
};

const text = z.object({ text: z.string() });
const discordSchema = z.object({
  content: z.string(),
  embeds: z.array(z.object({ title: z.string(), description: z.string() })),
});
const textBlock = z.object({ inlines: z.array(text) });
const card = z.object({
  body: z.array(z.union([textBlock, z.string()])),
  actions: z.array(z.object({ title: z.string() })),
});
const teamsSchema = z.object({ attachments: z.array(z.object({ content: card })) });
const emailSchema = z.object({ subject: z.string(), text: z.string() });
const ntfySchema = z.object({
  title: z.string(),
  message: z.string(),
  actions: z.array(z.object({ label: z.string() })),
});

function textOfBlock(each: string | z.infer<typeof textBlock>): string {
  return typeof each === "string" ? each : each.inlines.map((inline) => inline.text).join("");
}

const block = z.union([z.object({ elements: z.array(text) }), z.object({ text })]);
const slackSchema = z.object({ blocks: z.array(block) });

/** As a reader in UTC sees it: dates in words, links as their texts. */
function slackText(message: unknown): string {
  const lines = slackSchema.parse(message).blocks.map((each) =>
    ("elements" in each ? each.elements : [each.text])
      .map((element) => element.text)
      .join("  ")
      .replaceAll(/<!date[^|]*\|[^T]*T([\d:]+)[^>]*>/g, "today $1")
      .replaceAll(/<[^|>]*\|([^>]*)>/g, "[$1]")
      .replaceAll(/^\*|\*$/g, ""),
  );
  return lines.join("\n");
}
