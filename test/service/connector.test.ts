import { once } from "node:events";
import type { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createConnector } from "../../src/service/connector.ts";
import { startTcpPeer } from "./peer.ts";

test.for([
  ["has carried an answer", "an answer", true],
  ["has carried nothing yet", "", false],
] as const)("whether a broken connection %s is told", async ([, carried, isUsed]) => {
  const address = new URL(await startTcpPeer((peer) => void peer.write(carried)));
  const connector = createConnector(10_000);
  const { hostname, host, port, protocol } = address;
  const socket = await new Promise<Socket>((resolve, reject) => {
    connector.connect({ hostname, host, port, protocol }, (error, made) => {
      if (made) resolve(made);
      else reject(error);
    });
  });
  onTestFinished(() => void socket.destroy());
  if (carried) await once(socket, "readable");
  const brokeUsedConnection = connector.watchUsedConnections();
  const reset = new Error("reset");
  socket.destroy(reset);
  await expect(once(socket, "close")).rejects.toBe(reset);
  expect(brokeUsedConnection(reset)).toBe(isUsed);
  expect(brokeUsedConnection(new Error("another"))).toBe(false);
});
