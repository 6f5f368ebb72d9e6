import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { answerJson, startPeer } from "../service/peer.ts";
import type { Handler } from "../service/peer.ts";
import { runCommand } from "../support/run-command.ts";
import { startSelfSigned } from "../support/self-signed.ts";
import { tempFolder } from "../support/temp-folder.ts";

const apiKey = "simulated-T0PSECRET";

async function poll(baseUrl: string, ...args: readonly string[]) {
  const folder = tempFolder();
  const config = join(folder, "sandwatch.yaml");
  const settings = {
    regions: { us: { base_url: baseUrl } },
    keys: [{ name: "research", api_key: apiKey }],
    poll: { every: "1s" },
    store: { path: join(folder, "sandwatch.db") },
  };
  writeFileSync(config, JSON.stringify(settings));
  const ended = await runCommand(["poll", "--config", config, ...args]);
  expect(JSON.stringify(ended)).not.toContain("T0PSECRET");
  return ended;
}

const redirectTo =
  (location: string): Handler =>
  ({ headers }, response) => {
    const to = location.replace("HOST", headers.host ?? "");
    response.writeHead(307, { location: to }).end();
  };
const answer =
  (status: number, body: unknown = {}): Handler =>
  (_request, response) =>
    answerJson(response, body, status);

const redirected =
  "The key is sent to no address but the configured one: if the redirect is right, put the address that it leads to into the region's base_url.";
const ofOtherStatus =
  "A listing comes with status 200: check that the region's base_url is the service's.";
const cases: readonly (readonly [string, Handler, string])[] = [
  [
    "a redirect to another host",
    redirectTo("https://other.example.com/?token=T0PSECRET"),
    `HTTP 307: a redirect to another host, which is not followed. ${redirected}`,
  ],
  [
    "a redirect to https",
    redirectTo("https://HOST/us/local-sandbox"),
    `HTTP 307: a redirect to https on the same host, which is not followed. ${redirected}`,
  ],
  [
    "a redirect to another path",
    redirectTo("/v2/local-sandbox?token=T0PSECRET"),
    `HTTP 307: a redirect to another path on the same host, which is not followed. ${redirected}`,
  ],
  ["a 204", (_request, response) => response.writeHead(204).end(), `HTTP 204. ${ofOtherStatus}`],
  [
    "a 404",
    answer(404, { detail: "Not Found" }),
    "HTTP 404: there is no such operation at this base address. Check the path in the region's base_url: the listing is asked for below it, at /local-sandbox.",
  ],
  [
    "a 400",
    answer(400, { detail: "Bad request" }),
    "HTTP 400. The service finds fault with a request that has no parameters: check the region's base_url, and inform the service's operator.",
  ],
  [
    "a 401",
    answer(401),
    "HTTP 401. The service does not know the key: check its api_key, and that it belongs to this region.",
  ],
  [
    "a 503",
    answer(503),
    "HTTP 503. The service failed: try again, and inform its operator if it continues.",
  ],
  [
    "a page",
    (_request, response) => response.end("<html>T0PSECRET"),
    "the body is not JSON (at byte 0). The answer is no listing: check that the region's base_url is the service's, and what answers in between.",
  ],
];
test.for(cases)("poll says of %s what the log says, and what to do", async ([, handler, said]) => {
  const { baseUrl } = await startPeer(handler);
  expect(await poll(`${baseUrl}/us`)).toMatchObject({ code: 1, err: `us/research: ${said}\n` });
});

test("poll says of a self-signed certificate that it is not trusted", async () => {
  const { code, err } = await poll(await startSelfSigned());
  expect(code).toBe(1);
  expect(err).toBe(
    "us/research: TLS failed (DEPTH_ZERO_SELF_SIGNED_CERT). This machine does not trust the service's certificate: name the file of its authority in the environment variable NODE_EXTRA_CA_CERTS, or check the region's base_url.\n",
  );
});

test("poll says of a server without TLS, and of none at all, what to check", async () => {
  const { baseUrl, server } = await startPeer(answer(200));
  const plain = await poll(baseUrl.replace("http:", "https:"));
  expect(plain.err).toMatch(/^us\/research: TLS failed \(\w+\)\. What answers does not speak TLS /);
  server.close();
  server.closeAllConnections();
  await once(server, "close");
  expect((await poll(baseUrl)).err).toBe(
    "us/research: connection refused. Check the host and the port in the region's base_url, and the network between.\n",
  );
});

const sandbox = { local_sandbox_id: "s1", created_at: "then", servers: [{ id: "v1" }] };
test.for([
  [{ local_sandboxes: [sandbox], total_count: null }, "total_count is null"],
  [{ local_sandboxes: [sandbox] }, "total_count is missing"],
  [
    { local_sandboxes: [sandbox], total_count: "1" },
    "total_count is not a whole number (text of 1 character)",
  ],
  [{ local_sandboxes: [sandbox], total_count: 3 }, "total_count is 3, but 1 distinct sandbox came"],
  [
    { local_sandboxes: [sandbox, { ...sandbox, local_sandbox_id: "\0" }], total_count: 2 },
    "items or texts that cannot be kept: 1, such as local_sandboxes[1].local_sandbox_id holds a character that cannot be kept (text of 1 character)",
  ],
  [
    { local_sandboxes: [null, { ...sandbox, servers: [{}] }], total_count: 3 },
    "total_count is 3, but 2 distinct sandboxes came; items or texts that cannot be kept: 2, such as local_sandboxes[0] is null, which it may not be",
  ],
] as const)("poll says why %j is partial", async ([listing, why]) => {
  const { baseUrl } = await startPeer(answer(200, listing));
  const { code, out, err } = await poll(baseUrl);
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(/^us +research +partial /m);
  expect(out.trimEnd().split("\n").at(-1)).toBe(`us/research: the listing is partial: ${why}`);
  const { out: json } = await poll(baseUrl, "--json");
  expect(JSON.parse(json).targets).toMatchObject([{ up: true, complete: false, partial: why }]);
});

test("poll --json has the status and the detail of a failed poll", async () => {
  const { baseUrl } = await startPeer(redirectTo("/elsewhere"));
  const { code, out } = await poll(baseUrl, "--json");
  expect(code).toBe(1);
  expect(JSON.parse(out).targets).toMatchObject([
    {
      up: false,
      failure: "http_error",
      failure_status: 307,
      failure_detail:
        "HTTP 307: a redirect to another path on the same host, which is not followed",
      partial: null,
    },
  ]);
});
