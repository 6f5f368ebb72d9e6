import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runbookNames } from "../../src/alerts/links.ts";
import { configOf, loadText } from "../config/support.ts";
import { runbooks } from "../../src/web/pages/runbooks.ts";
import { serveWeb } from "./support/serve-web.ts";

const steps = runbooks.flatMap(({ look, act }) => [...look, ...act]);
const commands = steps.flatMap(({ command }) => command ?? []);

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
    const text = await response.text();
    expect([response.status, text.includes(`<h1>${title}</h1>`)]).toEqual([200, true]);
    // What it loads is its own: it must work without the Internet.
    expect(text).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  }
  expect((await fetch(`${address}/runbooks/none`)).status).toBe(404);
});

const reference = readFileSync(join(import.meta.dirname, "../../docs/commands.md"), "utf8");

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
