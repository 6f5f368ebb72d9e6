import { X509Certificate } from "node:crypto";
import { z } from "zod";
import type { Route } from "../lib/connector.ts";
import { whyAlwaysDenied } from "../lib/networks.ts";
import { parseNoProxyEntry } from "../lib/proxy.ts";
import { Secret } from "../lib/secret.ts";
import { webAddressLike } from "./address.ts";
import { network, optional, settings, textOf } from "./fields.ts";
import type { Environment } from "./resolve-references.ts";

/** The address of a proxy, perhaps with a user name and a password that can be decoded. */
function parseProxyUrl(text: string): Secret | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.search + url.hash !== "") return undefined;
  if (url.pathname !== "/") return undefined;
  try {
    decodeURIComponent(url.username + url.password);
    return new Secret(url.href);
  } catch {
    return undefined;
  }
}

function parseCertificates(text: string): string | undefined {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  try {
    return found?.map((each) => new X509Certificate(each).toString()).join("");
  } catch {
    return undefined;
  }
}

export const certificates = () =>
  textOf(
    "certificates in PEM, or ca_file instead",
    /-----BEGIN CERTIFICATE-----/,
    parseCertificates,
  );

/** What also a part of the configuration can set for itself. */
export const routeSettings = (usualProxy: string, usualCa: string) => ({
  proxyUrl: optional(
    textOf(
      "the http or https address of a proxy, such as http://proxy.example.com:3128, or none",
      new RegExp(`${webAddressLike.source}|^none$`),
      (text) => (text === "none" ? "none" : parseProxyUrl(text)),
    ),
    usualProxy,
    "The forward proxy through which https addresses are reached. It can contain a user name and a password, and is treated as a secret.",
  ),
  ca: optional(
    certificates(),
    usualCa,
    "Certificates of authorities in PEM that are trusted, besides those that Node.js trusts.",
  ),
});

const noProxyEntry = textOf(
  "a host name such as example.com, an address, a network such as 10.0.0.0/8, or *, each perhaps with a port",
  /./,
  parseNoProxyEntry,
);

/** How every part of sandwatch reaches other machines. */
export const outboundSchema = settings({
  ...routeSettings("the environment variable `HTTPS_PROXY`, or none", "none"),
  noProxy: optional(
    z.array(noProxyEntry, "a list of hosts and networks"),
    "the environment variable `NO_PROXY`, or `[]`",
    "What is reached directly: names of hosts with all hosts below them, addresses, networks, or `*` for everything.",
  ),
});

const openable = network(
  "that is not always denied (link-local, multicast, metadata services)",
  (each) => whyAlwaysDenied(each) === undefined,
);

/** How receivers are reached, and which may be. */
export const receiversOutboundSchema = settings({
  denyNetworks: z
    .array(network(), "a list of networks")
    .prefault([])
    .describe("Further networks that are denied."),
  allowNetworks: optional(
    z
      .array(openable, "a list of networks")
      .min(1, "at least one network; omit the setting for all"),
    "all",
    "If set, only these networks are allowed.",
  ),
  ...routeSettings("`outbound.proxy_url`", "`outbound.ca`"),
});

type OutboundSettings = z.output<typeof outboundSchema>;

/** @param own what a part sets for itself */
export function routeOf(
  { noProxy, ...common }: OutboundSettings,
  own: Omit<OutboundSettings, "noProxy"> = common,
): Route {
  const url = own.proxyUrl ?? common.proxyUrl ?? "none";
  return {
    proxy: url === "none" ? null : { url, noProxy: noProxy ?? [] },
    ca: own.ca ?? common.ca,
  };
}

/** The route that the environment names, for a command without a configuration; undefined: one that cannot be used. */
export function routeOfEnvironment(environment: Environment): Route | undefined {
  const found = outboundOf(environment).map(({ setting, value }) => [setting, value]);
  const { data } = outboundSchema.safeParse(Object.fromEntries(found));
  return data && routeOf(data);
}

/** The settings of `outbound` that the environment has, where a name in lower case comes first, as in curl. */
export function outboundOf(environment: Environment) {
  const [proxy, noProxy] = ["https_proxy", "no_proxy"].map((name) =>
    [name, name.toUpperCase()]
      .map((variable) => ({ variable, text: environment[variable] ?? "" }))
      .find(({ text }) => text !== ""),
  );
  return [
    ...(proxy
      ? [{ setting: "proxy_url", variable: proxy.variable, value: withScheme(proxy.text) }]
      : []),
    // Other programs may know forms that are not known here.
    ...(noProxy
      ? [{ setting: "no_proxy", variable: noProxy.variable, value: entriesIn(noProxy.text) }]
      : []),
  ];
}

function withScheme(text: string): string {
  return text.includes("://") ? text : `http://${text}`;
}

function entriesIn(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((each) => parseNoProxyEntry(each));
}

/** The entries of `NO_PROXY` that have no meaning here. */
export function ignoredNoProxyEntries({ no_proxy, NO_PROXY }: Environment): readonly string[] {
  const entries = (no_proxy || NO_PROXY || "").split(/[\s,]+/);
  return entries.filter((each) => each !== "" && !parseNoProxyEntry(each));
}
