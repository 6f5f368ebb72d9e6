import { expect, it } from "vitest";
import { watchWorld } from "../support/watched-world.ts";

it("the page that acknowledges many folds what they are, so that nobody scrolls to the button", async () => {
  const world = await watchWorld({ servers: 6 });
  const read = async () =>
    (await fetch(`${await world.address()}/incidents/acknowledge?region=us`)).text();
  for (const erring of [1, 5, 6]) {
    for (let server = 0; server < erring; server += 1) world.show(server, "error");
    await world.poll();
    const page = await read();
    expect(page.match(/<tbody>[^]*<\/tbody>/)?.[0].match(/<tr>/g)).toHaveLength(erring);
    expect(page.includes("<details>")).toBe(erring > 5);
  }
});
