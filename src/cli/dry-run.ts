import type { ReceiverConfig } from "../config/schema-receivers.ts";
import { Secret } from "../lib/secret.ts";
import type { Outbound } from "../notify/outbound.ts";
import type { EmailDeps } from "../notify/receivers/email.ts";

const mask = "[secret]";

/** Prints instead of sending. Addresses, secrets and the values of headers that can be secret are not shown. */
export function createDryRun(
  receiver: ReceiverConfig,
  print: (text: string) => void,
): { readonly outbound: Outbound } & Pick<EmailDeps, "submit"> {
  const secrets = secretsIn(receiver);
  const hide = (_: string, value: unknown): unknown =>
    typeof value === "string" && secrets.has(value) ? mask : value;
  return {
    outbound: {
      send({ method = "POST", headers = {}, secretHeaders = new Map(), body }) {
        const hidden = Array.from(secretHeaders.keys(), (name): [string, string] => [name, mask]);
        const lines = [...hidden, ...Object.entries(headers)].map(
          ([name, value]) => `${name}: ${value}`,
        );
        const content = body === undefined || body === "" ? "" : JSON.parse(body, hide);
        const shown = content === "" ? "" : `\n${JSON.stringify(content, null, 2)}\n`;
        print(`${method}\n${lines.map((line) => `${line}\n`).join("")}${shown}\n`);
        return Promise.resolve({ kind: "delivered" });
      },
      mayAct: () => true,
      connect: () => Promise.reject(new Error("a dry run connects to nothing")),
      openWebSocket() {
        throw new Error("a dry run connects to nothing");
      },
      secureContext: undefined,
      close: () => Promise.resolve(),
    },
    submit(email) {
      print(`${JSON.stringify(email, null, 2)}\n\n${email.text}\n\n`);
      return Promise.resolve([]);
    },
  };
}

/** Texts of a custom body that are no templates can be secrets. */
export function withoutLiterals(receiver: ReceiverConfig): ReceiverConfig {
  if (receiver.type !== "webhook" || !receiver.bodyTemplate) return receiver;
  const template: unknown = JSON.parse(receiver.bodyTemplate.reveal(), (_, value: unknown) =>
    typeof value === "string" && !/\{[{%]/.test(value) ? mask : value,
  );
  return { ...receiver, bodyTemplate: new Secret(JSON.stringify(template)) };
}

function secretsIn(value: unknown): ReadonlySet<string> {
  if (value instanceof Secret) return new Set([value.reveal()]);
  if (typeof value !== "object" || value === null) return new Set();
  return new Set(Object.values(value).flatMap((part) => [...secretsIn(part)]));
}
