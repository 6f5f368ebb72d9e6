import type { Config } from "../../config/config.ts";
import type { ReceiverConfig } from "../../config/schema-receivers.ts";
import type { ConnectOptions } from "../../lib/connector.ts";
import { systemClock } from "../../lib/clock.ts";
import { destinationOf, ProxyError } from "../../lib/proxy.ts";
import { userAgent } from "../../lib/version.ts";
import {
  createGuardedConnector,
  DeniedAddressError,
  createOutbound,
  type Outbound,
} from "../../notify/outbound.ts";
import { createSlackApi } from "../../notify/receivers/slack-api.ts";
import { refusedAdvice } from "../../notify/receivers/slack-socket.ts";
import { connectionFailure } from "../../service/failure.ts";
import { adviceFor } from "../failure-advice.ts";
import { mapSome, type Finding } from "./finding.ts";

const connectionsAtOnce = 10;

/** Connects to the host of each receiver, with TLS if it is https, and sends no messages. */
export async function checkReceivers(
  receivers: readonly ReceiverConfig[],
  { networks, route }: Config["alerts"]["outbound"],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const mayAct = (): boolean => true;
  const outbound = createOutbound({ clock: systemClock, userAgent, mayAct, networks, route });
  const connector = createGuardedConnector(networks, undefined, route);
  const stop = (): void => connector.close();
  signal.addEventListener("abort", stop);
  const connectTo = (address: ConnectOptions): Promise<unknown> =>
    new Promise((resolve) => {
      void connector.connect(address, (error, socket) => {
        socket?.destroy();
        resolve(error);
      });
    });
  try {
    const found = await mapSome(receivers, connectionsAtOnce, async (receiver) => {
      const begin = performance.now();
      const addresses = addressesOf(receiver);
      const name = `${receiver.name} (${receiver.type})`;
      const errors = signal.aborted ? [] : await mapSome(addresses, connectionsAtOnce, connectTo);
      const took = Math.round(performance.now() - begin);
      if (errors.length === 0) return [{ level: "note", text: `${name} is not checked` } as const];
      const failed = errors.flatMap((error, at) =>
        error ? [describe(name, at, addresses, error)] : [],
      );
      const via = addresses.some(connector.isProxied) ? " through the proxy" : "";
      if (failed.length > 0) return failed;
      const reached = { level: "ok", text: `${name} can be reached${via}: ${took} ms` } as const;
      return [reached, ...(await checkAppToken(receiver, name, outbound, signal))];
    });
    return found.flat();
  } finally {
    signal.removeEventListener("abort", stop);
    connector.close();
    await outbound.close();
  }
}

/** Asks Slack for the address of a connection, and opens none. */
async function checkAppToken(
  receiver: ReceiverConfig,
  name: string,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (receiver.type !== "slack_app" || !receiver.appToken) return [];
  const api = createSlackApi(receiver, outbound);
  const { result } = await api("apps.connections.open", receiver.appToken, {}, signal);
  if (result.kind === "aborted") return [];
  if (result.kind === "delivered") return [{ level: "ok", text: `${name}: app_token is accepted` }];
  const { reason, detail } = result;
  if (reason !== "gone") {
    return [{ level: "warning", text: `${name}: app_token could not be checked: ${detail}` }];
  }
  const text = `${name}: Slack refuses app_token: ${detail}`;
  return [{ level: "failure", text, mend: `Its buttons do nothing: ${refusedAdvice}` }];
}

function addressesOf(receiver: ReceiverConfig): readonly ConnectOptions[] {
  if (receiver.type === "email") {
    const { host: hostname, port, tls, viaProxy } = receiver;
    // Only for the connection: it is encrypted from the start, or not yet.
    const protocol = tls === "tls" ? "https:" : "http:";
    return [{ protocol, hostname, host: hostname, port: String(port), viaProxy }];
  }
  const secrets = "urls" in receiver ? receiver.urls : [receiver.url];
  return secrets.map((secret) => {
    const url = new URL(secret.reveal());
    return { ...destinationOf(url), host: url.host };
  });
}

/** The address is a secret, so it is named by its place. */
function describe(
  name: string,
  at: number,
  addresses: readonly unknown[],
  error: unknown,
): Finding {
  const which = addresses.length > 1 ? `${name}, urls[${at}]` : name;
  if (error instanceof DeniedAddressError) {
    const mend = "Correct its address, or allow it in alerts.outbound.";
    return { level: "failure", text: `${which}: its address is denied: ${error.why}`, mend };
  }
  const failure = { ...connectionFailure(error, null), problem: null };
  const { detail } = failure;
  if (error instanceof ProxyError) {
    return { level: "failure", text: `${which}: ${detail}`, mend: adviceFor(failure) };
  }
  const mend = detail.startsWith("TLS")
    ? "Check its certificate and this machine's clock. A CA of your own is named in outbound.ca_file."
    : "Check the host and port of its address, DNS and the network.";
  return { level: "failure", text: `${which}: ${detail}`, mend };
}
