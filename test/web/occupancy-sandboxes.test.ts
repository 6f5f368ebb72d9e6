import { expect, it } from "vitest";
import { watchHours } from "../support/watched-hours.ts";

it("counts sandboxes instead of servers where they are chosen", async () => {
  const address = await (await watchHours()).address();
  const get = async (path: string) => {
    const text = await (await fetch(`${address}/${path}`)).text();
    return { text: text.replaceAll(/\s+/g, " ") };
  };
  const averageOf = async (query: string) => {
    const { text } = await get(`occupancy?from=6h${query}`);
    return { text, average: /On average: [^"]+/.exec(text)?.[0] };
  };
  const [servers, sandboxes] = [await averageOf(""), await averageOf("&of=sandboxes")];
  expect(servers.text).toContain("<h2>Servers by status</h2>");
  expect(sandboxes.text).toContain("<h2>Sandboxes by status</h2>");
  expect(sandboxes.text).toMatch(/<option selected ?>sandboxes<\/option>/);
  expect(sandboxes.text).toContain(
    '<a href="occupancy?of=sandboxes&amp;from=7d" data-soft>7 d</a>',
  );
  expect(sandboxes.text).toContain("report?from=6h&amp;of=sandboxes");
  expect(sandboxes.average).not.toBe(servers.average);
  expect((await get("occupancy?of=cats")).text).toContain(
    "of cannot be “cats”. Allowed: servers or sandboxes.",
  );
  const { text } = await get("report?of=sandboxes&from=1h&by=region");
  expect(text).toContain("<h1>Occupancy of sandboxes</h1>");
  expect(text).toContain("<h2>Headroom by benchmark</h2>");
});
