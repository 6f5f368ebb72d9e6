import { expect, it } from "vitest";
import { expireSilence } from "../../src/api/operations/change-silence.ts";
import { listChanges } from "../../src/api/operations/changes.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { watchWorld } from "../support/watched-world.ts";

it("the page of a server or sandbox that is silenced shows by whom, and ends that, whatever fires of it", async () => {
  const world = await watchWorld({ keys: ["research", "another"] });
  await world.poll();
  const address = await world.address();
  const { api } = world.daemon();
  const [server = ""] = world.serverIds;
  const { changes } = await api(listChanges, { server });
  const sandbox = changes[0]?.sandbox_id ?? "";
  const ends = async (path: string) => {
    const markup = await fetch(`${address}/${path}`).then((response) => response.text());
    return [markup.match(/silences\/\w+\/end/g) ?? [], markup.includes("by ann: moving it")];
  };
  const { region, key } = world.target;
  for (const [path, match] of [
    [`server?server=${server}`, { server_id: server }],
    [`sandbox?sandbox=${sandbox}`, { sandbox_id: sandbox }],
  ] as const) {
    const given = { author: "ann", reason: "moving it", duration: "1h" };
    await api(addSilence, { match: { ...match, region, key: "another" }, ...given });
    expect(await ends(path)).toEqual([[], false]);
    const { id } = await api(addSilence, { match: { ...match, region, key }, ...given });
    expect(await ends(path)).toEqual([[`silences/${id}/end`], true]);
    await api(expireSilence, { id, author: "bob" });
    expect(await ends(path)).toEqual([[], false]);
  }
});
