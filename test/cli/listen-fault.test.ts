import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { CommandError } from "../../src/cli/exit-codes.ts";
import { asListenFault } from "../../src/cli/options.ts";
import { listenOnLoopback } from "../support/listen.ts";

async function faultAt(host: string, port = 0): Promise<unknown> {
  const server = createServer();
  onTestFinished(() => void server.close());
  const failed = once(server, "listening").catch((error: unknown) => error);
  server.listen(port, host);
  return asListenFault(await failed, "http.listen");
}

it("an address that cannot be listened on is refused with what happened and what to do", async () => {
  const port = await listenOnLoopback(createServer());
  expect([await faultAt("127.0.0.1", port), await faultAt("192.0.2.1", 80)]).toEqual([
    new CommandError(
      `http.listen 127.0.0.1:${port} is in use by another process; stop it or set http.listen.`,
    ),
    new CommandError(
      "http.listen 192.0.2.1:80 is not an address of this machine; set http.listen.",
    ),
  ]);
  const unresolved = Object.assign(new Error("getaddrinfo EMFILE nowhere"), {
    syscall: "getaddrinfo",
    code: "ENOTFOUND",
    hostname: "nowhere.invalid",
  });
  expect(asListenFault(unresolved, "--port")).toEqual(
    new CommandError("--port nowhere.invalid is a name without an address; set --port."),
  );
  const another = new Error("something else");
  expect(asListenFault(another, "--port")).toBe(another);
});
