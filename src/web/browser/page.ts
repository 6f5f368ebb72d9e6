import { offerActions } from "./act.ts";
import { keepLive } from "./live.ts";

// What every page runs.
keepLive();
offerActions();
