import { expect, it } from "vitest";
import { reportOccupancy } from "../../src/api/operations/occupancy.ts";
import { startListedService } from "../support/listed-service.ts";
import { runCommand } from "../support/run-command.ts";
import { watchWorld } from "../support/watched-world.ts";

/** Three sandboxes for 15 s; in the last five a server of the first one is occupied, and that sandbox is in error itself. */
async function openReports() {
  const service = await startListedService({
    "box-1": ["idle", ["idle", "error"]],
    "box-10": ["idle", ["idle"]],
    lone: ["occupied", []],
  });
  const world = await watchWorld({ baseUrl: service.baseUrl });
  await world.poll(3);
  service.list({ "box-1": ["error", ["occupied", "error"]], "box-10": ["idle", ["idle"]] });
  await world.poll(2);
  const url = await world.address();
  const report = (...args: readonly string[]) =>
    runCommand(["report", "--url", url, "--from", "15s", ...args]);
  return { url, report };
}

/** What each band of a page says. */
const bandsOf = (page: string): readonly string[] =>
  [...page.matchAll(/class="band" role="img" aria-label="([^"]*)"/g)].map(([, text = ""]) => text);

const box = "sandbox box-1 in us/research: idle 10 s, error 5 s";
const first = "github box-1/0 in us/research: occupied 5 s, idle 10 s";
const second = "slack box-1/1 in us/research: error 15 s";

it("the HTML report of a server or sandbox draws how it spent the range, and has its figures", async () => {
  const { report } = await openReports();
  const pageOf = async (...args: readonly string[]) => {
    const { code, out, err } = await report(...args, "--format", "html");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^<!doctype html>[^]*<\/html>\s*$/);
    return out;
  };
  const one = await pageOf("--server", "box-1/0");
  expect(bandsOf(one)).toEqual([first]);
  expect(one).toContain("<h1>How github box-1/0 in us/research spent 2026-11-20 09:30Z to");
  expect(one).toContain('<td class="number">33.3%</td>');
  // A sandbox is drawn with its servers, unless only it is meant.
  expect(bandsOf(await pageOf("--sandbox", "box-1"))).toEqual([box, first, second]);
  expect(bandsOf(await pageOf("--sandbox", "box-1", "--of", "sandboxes"))).toEqual([box]);
  expect(bandsOf(await pageOf("--sandbox", "box-1", "--by", "sandbox"))).toEqual([box]);
  const boxes = ["box-1", "box-10"].map((id) => expect.stringContaining(`sandbox ${id} in us`));
  expect(bandsOf(await pageOf("--sandbox", "box", "--of", "sandboxes"))).toEqual(boxes);
  expect(bandsOf(await pageOf("--server", "slack"))).toEqual([second]);
});

it("the page of a server or sandbox leads to its report, which the daemon serves", async () => {
  const { url } = await openReports();
  const textOf = async (path: string) => (await fetch(`${url}/${path}`)).text();
  for (const [path, band] of [
    [
      "server?server=box-1/0",
      "github box-1/0 in us/research: occupied 5 s, idle 15 s, unobserved 23 h",
    ],
    ["sandbox?sandbox=lone", "sandbox lone in us/research: occupied 15 s, unobserved 23 h"],
  ] as const) {
    const [, address = ""] = /href="(report\?[^"]*)"/.exec(await textOf(path)) ?? [];
    expect(address).toContain("from=24h");
    const page = await textOf(address.replaceAll("&amp;", "&"));
    expect(bandsOf(page)).toEqual([expect.stringContaining(band)]);
  }
});

it("the HTML report by server and by sandbox has a row for each, beside the charts of all", async () => {
  const { report } = await openReports();
  for (const [args, cells] of [
    [
      ["--by", "server"],
      ["box-1/0", "box-1/1", "box-10/0"],
    ],
    [
      ["--by", "sandbox"],
      ["box-1", "box-10"],
    ],
    [
      ["--by", "sandbox", "--of", "sandboxes"],
      ["box-1", "box-10", "lone"],
    ],
  ] as const) {
    const { code, out } = await report(...args, "--format", "html");
    expect(code).toBe(0);
    const [charts = "", rows = ""] = out.split("<h2>By region");
    // How many there were at once says nothing of one server.
    expect(rows.includes(">peak</th>")).toBe(!args.some((each) => each === "server"));
    expect(charts).toContain("Occupied share by hour and weekday");
    const found = [...rows.matchAll(/<bdi>((?:box|lone)[^<]*)<\/bdi>/g)].map(([, cell]) => cell);
    expect(found.filter((cell) => cells.some((each) => each === cell))).toEqual(cells);
  }
});

it("other formats have the rows of a server or sandbox alone", async () => {
  const { report } = await openReports();
  const rowsOf = async (...args: readonly string[]) => {
    const { out } = await report(...args, "--json");
    const { rows } = reportOccupancy.response.omit({ next: true }).parse(JSON.parse(out));
    return rows.map(({ sandbox, server, occupied_seconds }) => [sandbox, server, occupied_seconds]);
  };
  expect(await rowsOf("--server", "box-1/0")).toEqual([["box-1", "box-1/0", 5]]);
  expect(await rowsOf("--sandbox", "box-1", "--by", "sandbox")).toEqual([["box-1", undefined, 5]]);
  expect(await rowsOf("--sandbox", "lone", "--of", "sandboxes")).toEqual([["lone", undefined, 10]]);
  expect(await report("--server", "none")).toEqual({
    code: 0,
    out: expect.stringContaining("There is nothing to report."),
    err: "note: Nothing in this range matches.\n",
  });
});

it("what a report of a server or sandbox cannot have is refused", async () => {
  const { report } = await openReports();
  for (const [args, reason] of [
    [["--server", "a", "--of", "sandboxes"], "server: only of servers"],
    [["--server", "a", "--by", "day"], "by: server or sandbox, where server or sandbox is set"],
    [["--sandbox", "a", "--by", "region"], "by: server or sandbox, where server or sandbox is set"],
    [["--server", ""], "server: a server's id"],
    [
      ["--sandbox", "a", "--threshold", "0.5", "--format", "html"],
      "threshold: only without server and sandbox",
    ],
    [
      ["--server", "a", "--format", "openmetrics"],
      "omit --url, --by, --tz, --server and --sandbox",
    ],
  ] as const) {
    const refused = { code: 2, out: "", err: expect.stringContaining(reason) };
    expect([args, await report(...args)]).toMatchObject([args, refused]);
  }
});
