import { expect, it } from "vitest";
import { insights } from "../../src/cli/insights.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { watchWorld } from "../support/watched-world.ts";

it("insights in words fit the terminal, and of a narrow one names and ids are cut, but no figure", async () => {
  const world = await watchWorld({ servers: 2 });
  for (let stay = 0; stay < 21; stay += 1) {
    world.show(0, "occupied");
    await world.poll();
    world.show(0, "idle");
    await world.poll();
  }
  world.show(0, "occupied");
  world.show(1, "error");
  await world.poll(25);
  const url = await world.address();
  const tablesAt = async (columns: number): Promise<readonly string[]> => {
    let text = "";
    const out = (more: string): void => void (text += more);
    const terminal: Terminal = { out, err() {}, isInteractive: true, columns };
    await insights({ url }, terminal);
    return text.slice(text.indexOf("Names without")).trimEnd().split("\n");
  };
  const [occupied, erred] = world.serverIds.map((id) => id.slice(0, 8));
  const wide = [
    "Names without an idle server",
    "  for    in hours  target       name",
    "  3m45s  1         us/research  puppeteer",
    "  2m     1         us/research  filesystem",
    "",
    "Servers with the most errors",
    "  errors  in error  target       name        server",
    `  1       2m        us/research  filesystem  ${erred}`,
    "",
    "Servers with the longest errors",
    "  errors  in error  target       name        server",
    `  1       2m        us/research  filesystem  ${erred}`,
    "",
    "Occupied for longer than usual for the name",
    "  for  usually under  target       name       server",
    `  2m   9.5s           us/research  puppeteer  ${occupied}`,
  ];
  expect(await tablesAt(80)).toEqual(wide);
  expect(await tablesAt(60)).toEqual(wide);
  const cut = (line: string): string => (line.length > 40 ? `${line.slice(0, 39)}…` : line);
  const isTitle = (line: string): boolean => !line.startsWith(" ");
  expect(await tablesAt(40)).toEqual(wide.map((line) => (isTitle(line) ? line : cut(line))));
});
