import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { adviceFor, type Failed } from "../../src/cli/failure-advice.ts";
import { answerJson, startPeer } from "../service/peer.ts";
import type { Handler } from "../service/peer.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { startSelfSigned } from "../support/self-signed.ts";

async function poll(baseUrl: string, ...args: readonly string[]) {
  const { config } = writeConfig({ regions: { us: { base_url: baseUrl } }, poll: { every: "1s" } });
  const ended = await runCommand(["poll", "--config", config, ...args]);
  expect(JSON.stringify(ended)).not.toContain("T0PSECRET");
  return ended;
}

const answer =
  (status: number, body: unknown = {}): Handler =>
  (_request, response) =>
    answerJson(response, body, status);

describe("poll", () => {
  it.each<[string, Handler, string]>([
    [
      "a redirect",
      (_request, response) =>
        response.writeHead(307, { location: "/v2/local-sandbox?token=T0PSECRET" }).end(),
      "HTTP 307: a redirect to another path on the same host, which is not followed. The key is sent to the configured address only",
    ],
    [
      "a 404",
      answer(404, { detail: "Not Found" }),
      "HTTP 404: there is no such operation at this base address. Check the path in the region's base_url",
    ],
    ["a 401", answer(401), "HTTP 401. Check the key's api_key"],
    [
      "a page",
      (_request, response) => response.end("<html>T0PSECRET"),
      "the body is not JSON (at byte 0). Check the region's base_url, and whether a proxy responds instead of the service",
    ],
  ])("reports %s as the log does, and what to do", async (_, handler, text) => {
    const { baseUrl } = await startPeer(handler);
    const ended = await poll(`${baseUrl}/us`);
    expect(ended.code).toBe(1);
    expect(ended.err.startsWith(`us/research: ${text}`)).toBe(true);
    // In the table the condition is called the same.
    const [condition = ""] = text.split(/[.:] /);
    expect(ended.out.split("\n")[1]).toMatch(
      new RegExp(`^us +research +${condition.replaceAll(/[()]/g, "\\$&")} +-`),
    );
  });

  it("reports a certificate that is not trusted, a server without TLS, and no server", async () => {
    const selfSigned = await poll(await startSelfSigned());
    expect(selfSigned.err).toMatch(
      /TLS failed \(DEPTH_ZERO_SELF_SIGNED_CERT\).*NODE_EXTRA_CA_CERTS/,
    );
    const { baseUrl, server } = await startPeer(answer(200));
    const plain = await poll(baseUrl.replace("http:", "https:"));
    expect(plain.err).toMatch(
      /^us\/research: TLS failed \(\w+\)\. Check the scheme, the host and the port/,
    );
    server.close();
    server.closeAllConnections();
    await once(server, "close");
    expect((await poll(baseUrl)).err).toMatch(/^us\/research: connection refused. Check the host /);
  });

  const sandbox = { local_sandbox_id: "s1", created_at: "then", servers: [{ id: "v1" }] };
  it.each([
    [{ local_sandboxes: [sandbox] }, "total_count is missing"],
    [
      { local_sandboxes: [null, { ...sandbox, servers: [{}] }], total_count: 3 },
      "total_count is 3, but the listing has 2 distinct sandboxes; ",
    ],
  ])("reports why %j is partial", async (listing, why) => {
    const { baseUrl } = await startPeer(answer(200, listing));
    const { code, out, err } = await poll(baseUrl);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^us +research +partial /m);
    expect(out).toContain(`us/research: the listing is partial: ${why}`);
    expect(out.trimEnd().split("\n").at(-1)).toMatch(/^us +research /);
    const { out: json } = await poll(baseUrl, "--json");
    expect(JSON.parse(json).targets).toMatchObject([
      { up: true, complete: false, partial: expect.stringContaining(why) },
    ]);
  });

  it("lists the servers with --verbose only, before the summary", async () => {
    const listing = { local_sandboxes: [{ ...sandbox, servers: [{ id: "v1" }] }], total_count: 1 };
    const { baseUrl } = await startPeer(answer(200, listing));
    expect((await poll(baseUrl)).out).not.toContain("v1");
    const { out } = await poll(baseUrl, "--verbose");
    expect(out.split("\n")[1]).toMatch(/^unknown +us +research +v1 +s1$/);
    expect(out.trimEnd().split("\n").at(-1)).toMatch(/^us +research +ok +1 /);
  });

  it("has the status and the detail of a failed poll in JSON", async () => {
    const { baseUrl } = await startPeer(answer(503));
    const { code, out } = await poll(baseUrl, "--json");
    expect(code).toBe(1);
    expect(JSON.parse(out).targets).toMatchObject([
      { up: false, failure: "server_error", failure_status: 503, failure_detail: "HTTP 503" },
    ]);
  });
});

it.each<[Partial<Failed>, string]>([
  [{}, "Check the id and the region"],
  [{ status: 400 }, "Check the id if one was given"],
  [{ status: 400, detail: "HTTP 400: this port speaks TLS" }, "Begin the region's base_url"],
  [{ reason: "auth", status: 403 }, "Check the key's api_key"],
  [{ reason: "rate_limited", status: null }, "Try again, or set poll.rate_limit"],
  [{ reason: "rate_limited", status: 429 }, "Check that poll.rate_limit is the limit"],
  [{ reason: "server_error", status: 503 }, "The service failed: try again"],
  [{ reason: "timeout", status: null }, "or increase poll.timeout."],
  [{ reason: "too_large", status: 200 }, "reads at most 8 MiB"],
])("the failure %j has advice", (failed, advice) => {
  const other: Failed = { reason: "http_error", status: 404, detail: "", problem: null };
  expect(adviceFor({ ...other, ...failed })).toContain(advice);
});
