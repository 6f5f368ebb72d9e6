import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runbookNames } from "../../src/alerts/links.ts";
import { configOf, loadText } from "../config/support.ts";
import { serveWeb } from "./support/serve-web.ts";

const documents = join(import.meta.dirname, "../../docs");
const text = readFileSync(join(documents, "runbooks.md"), "utf8");
const runbooks = Array.from(
  text.matchAll(/^## (.+)\n\n\*\*(.+)\.\*\*/gm),
  ([, name = "", title = ""]) => ({ name, title }),
);
const commands = Array.from(text.matchAll(/`(sandwatch .+)`$/gm), ([, command = ""]) => command);

const smallest = `
regions: { us: { base_url: "https://us.example.com" } }
keys: [{ name: research, api_key: sk-0123456789 }]
`;

it("there is a page for each name that messages link to, and each default rule", async () => {
  const { address } = await serveWeb();
  const { rules } = configOf(loadText(smallest)).alerts;
  expect(runbooks.map(({ name }) => name)).toEqual(runbookNames);
  expect(runbookNames).toEqual(expect.arrayContaining(rules.map(({ name }) => name)));
  const list = await (await fetch(`${address}/runbooks`)).text();
  for (const { name, title } of runbooks) {
    expect(list).toContain(`href="runbooks/${name}"`);
    const response = await fetch(`${address}/runbooks/${name}`);
    const page = await response.text();
    expect([response.status, page.includes(`<h1>${title}</h1>`)]).toEqual([200, true]);
    // What it loads is its own: it must work without the Internet.
    expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  }
  expect((await fetch(`${address}/runbooks/none`)).status).toBe(404);
});

const reference = readFileSync(join(documents, "commands.md"), "utf8");

it("a page has all that its section of the document says", async () => {
  const { get } = await serveWeb();
  const [, section = ""] = text.split("\n## key-refused\n");
  const [own = ""] = section.split("\n## ");
  const { text: page } = await get("/runbooks/key-refused");
  const wordsOf = (each: string): string => each.replaceAll(/\W+/g, " ").trim();
  const shown = wordsOf(page.replaceAll(/<[^>]+>/g, " "));
  expect(own.split(/\n+/).filter((line) => !shown.includes(wordsOf(line)))).toEqual([]);
});

it.each([...new Set(commands)])("%s is a command that there is", (command) => {
  const words = command.split(" ").slice(1);
  const heading = [words.slice(0, 2).join(" "), words[0] ?? ""].find((each) =>
    reference.includes(`\n## ${each}\n`),
  );
  expect(heading).toBeDefined();
  const [, section = ""] = reference.split(`\n## ${heading}\n`);
  const [own = ""] = section.split("\n## ");
  const options = words.filter((word) => word.startsWith("--"));
  expect(
    options.filter((option) => !own.includes(`${option} `) && !own.includes(`${option}\``)),
  ).toEqual([]);
});
