import type { Site } from "./site.ts";
import type { ToolProcess } from "./tool-process.ts";

/** What it can tell of the listing, in words. */
export interface Abilities {
  readonly perServer: string;
  readonly transitions: string;
  readonly alerts: string;
  readonly history: string;
}

/** One of the things that someone might run to watch a listing. */
export interface Peer {
  readonly name: string;
  /** The program that must be installed, where it is not a part of this package. */
  readonly needs?: string;
  readonly tells: Abilities;
  /** `folder` is for its configuration and data; it is removed afterwards. */
  start(site: Site, folder: string, program: string): Promise<RunningPeer>;
}

/**
 * `polls`: it asks for the listing by itself, every `site.everyMs`. `probes`: each scrape of it asks for
 * the listing. `runs`: each look is a process of its own.
 */
export type RunningPeer =
  | { readonly kind: "polls"; readonly process: ToolProcess; readonly scrapeUrl: string }
  | { readonly kind: "probes"; readonly process: ToolProcess; readonly scrapeUrl: string }
  | { readonly kind: "runs"; readonly command: string; readonly args: readonly string[] };
