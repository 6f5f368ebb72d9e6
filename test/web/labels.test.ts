import { expect, it } from "vitest";
import { share } from "../support/share.ts";
import { watchWorld } from "../support/watched-world.ts";

/** One key of each team, and one of none; a server of the first is in error. */
const teams = share(async () => {
  const world = await watchWorld({
    keys: ["find", "code", "spare"],
    labels: { find: { team: "search" }, code: { team: "agents" } },
  });
  world.show(0, "error");
  await world.poll(2);
  const address = await world.address();
  return async (path: string) => {
    const response = await fetch(new URL(path, address), { headers: { accept: "text/html" } });
    const text = (await response.text()).split("<main").at(-1) ?? "";
    const shown = text.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
    return { status: response.status, text, shown };
  };
});

it.each(["/", "/servers", "/sandboxes", "/incidents"])(
  "%s is limited to the keys with a label, says so, and leads back to all",
  async (path) => {
    const open = teams();
    const all = await open(path);
    expect(all.shown).toMatch(/find/);
    expect(all.shown).not.toContain("Only keys with");
    const search = await open(`${path}?label=team:search`);
    expect(search.status).toBe(200);
    expect(search.shown).toContain("Only keys with team=search. Show all keys");
    expect(search.shown).toMatch(/find/);
    expect(search.shown).not.toMatch(/us \/ (code|spare)/);
    const agents = await open(`${path}?label=team%3Dagents`);
    expect(agents.shown).not.toMatch(/us \/ (find|spare)/);
    const none = await open(`${path}?label=team:sales`);
    expect(none.status).toBe(400);
    expect(none.text).toContain("known: team=search, team=agents");
  },
);

it("the overview counts the servers of these keys alone, and its links keep the label", async () => {
  const open = teams();
  const search = await open("/?label=team:search");
  expect(search.shown).toMatch(/1 \w+ server in error/);
  expect(search.text).toContain("Search 3 servers");
  expect(search.text).toContain('href="servers?status=error&amp;label=team%3Dsearch"');
  const agents = await open("/?label=team:agents");
  expect(agents.shown).not.toMatch(/server in error/);
  expect((await open("/")).text).toContain("Search 9 servers");
});

it("incidents that a label selects are not acknowledged all at once, as that takes a rule, region or key", async () => {
  const open = teams();
  expect((await open("/incidents")).shown).toContain("Acknowledge all");
  expect((await open("/incidents?label=team:search")).shown).not.toContain("Acknowledge all");
});
