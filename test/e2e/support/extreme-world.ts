import { addSilence } from "../../../src/api/operations/silences.ts";
import { listIncidents } from "../../../src/api/operations/incidents.ts";
import { answerJson, startPeer } from "../../service/peer.ts";
import { watchWorld } from "../../support/watched-world.ts";

/** As long as configuration allows. */
const region = "region-".padEnd(63, "r");
const key = "key-".padEnd(63, "k");
/** As a service may call things: long, without a blank. */
const longName = (n: number) =>
  `${n}-${"a-server-with-a-name-that-is-too-long".repeat(6)}`.slice(0, 188);

/** What is longer than any layout expects: names of 188 characters, 200 receivers, 10,000 servers in 500 sandboxes. */
export async function watchExtremes() {
  const sandboxes = Array.from({ length: 500 }, (_, n) => ({
    local_sandbox_id: `${n}-`.padEnd(n === 0 ? 188 : 36, "b"),
    created_at: "2026-11-20T09:00:00.000000+00:00",
    status: n === 0 ? "error" : "idle",
    benchmark: longName(n % 3),
    servers: Array.from({ length: 20 }, (_server, index) => ({
      id: `${n}-${index}-`.padEnd(n === 0 ? 188 : 36, "c"),
      server_name: n % 2 === 0 ? longName(index) : `server ${index}`,
      mcp_server_url: null,
      status: n < 3 && index < 4 ? "error" : index % 3 === 0 ? "occupied" : "idle",
      benchmark: longName(n % 3),
      updated_at: "2026-11-20T09:00:00.000000+00:00",
      metadata: null,
      auth_data: null,
      tags: [longName(90), "beta"],
    })),
  }));
  const { baseUrl } = await startPeer((_, response) =>
    answerJson(response, { local_sandboxes: sandboxes, total_count: sandboxes.length }),
  );
  const { baseUrl: sink } = await startPeer((_, response) => response.writeHead(200).end());
  const receivers = Array.from({ length: 200 }, (_, n) => ({
    name: `receiver-${n}-`.padEnd(63, "x"),
    type: "webhook",
    url: `${sink}/`,
  }));
  const name = "rule-".padEnd(63, "e");
  const rules = [
    { name, on: "server", status: "error" },
    { name: "sandbox-error", on: "sandbox", status: "error" },
    {
      name: "full".padEnd(63, "f"),
      on: "pool",
      by: ["region", "server_name"],
      servers: { above: 1 },
    },
  ];
  const world = await watchWorld({
    baseUrl,
    regions: [region],
    keys: [key],
    alerts: { receivers, rules },
  });
  await world.poll(2);
  const { api } = world.daemon();
  const { incidents } = await api(listIncidents, { state: "firing", rule: name });
  const [first] = incidents;
  const id = first?.id ?? "";
  const { id: silence } = await api(addSilence, {
    match: { server_name: longName(1) },
    author: "ann-".padEnd(60, "n"),
    reason: longName(5),
    duration: "2h",
  });
  await world.poll();
  const place = new URLSearchParams({
    region,
    key,
    sandbox: first?.sandbox_id ?? "",
    server: first?.server_id ?? "",
  });
  const selection = new URLSearchParams({ rule: name, region, key }).toString();
  const paths = [
    "",
    "incidents",
    `incidents?${selection}`,
    `incidents/${id}`,
    ...["acknowledge", "silence", "unacknowledge"].map((action) => `incidents/${id}/${action}`),
    ...["acknowledge", "silence", "unacknowledge"].map(
      (action) => `incidents/${action}?${selection}`,
    ),
    `silences/${silence}`,
    `silences/${silence}/change`,
    `silences/${silence}/end`,
    "servers",
    "servers?q=server",
    "servers?q=nothing-is-called-so",
    `server?${place.toString()}`,
    `server/silence?${place.toString()}`,
    "sandboxes",
    `sandbox?${place.toString()}`,
    `sandbox/silence?${place.toString()}`,
    `sandbox/acknowledge?${place.toString()}`,
    "occupancy",
    "runbooks",
    "runbooks/target-down",
    "incidents/nothing22",
    "nothing",
  ];
  return { world, address: await world.address(), paths };
}

/**
 * Short words of the page that stand on more than one line. What is longer than a line of a phone may break, and so may
 * what has no blank around it.
 */
export const brokenWords = `(() => {
  const broken = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement?.checkVisibility()) continue;
    for (const { 0: word, index } of node.data.matchAll(/(?<!\\S)[\\w:()]{2,16}(?!\\S)/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      if (new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top))).size > 1) broken.push(word);
    }
  }
  return broken;
})()`;
