import { describe, expect, it } from "vitest";
import { createStore } from "../../../src/store/store.ts";
import { startMs } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";

const dayMs = 86_400_000;

describe.each(engines)("messages that are changed later, on $name,", (engine) => {
  it("are kept by group, as they were last, until they are removed or old", async () => {
    const { kysely, close } = await engine.open();
    const { messageThreads } = createStore(kysely, close);
    const save = (receiver: string, group: string, message: string, atMs = startMs) =>
      messageThreads.save(receiver, "server-error", { group, message }, atMs);
    const kept = (receiver: string) => messageThreads.ofRule(receiver, "server-error");
    await save("chat", "us", "1");
    await save("chat", "eu", "2");
    await save("other", "us", "3");
    await save("chat", "us", "4", startMs + 1);
    expect(await kept("chat")).toEqual([
      { group: "eu", message: "2" },
      { group: "us", message: "4" },
    ]);
    expect(await messageThreads.ofRule("chat", "target-down")).toEqual([]);
    await messageThreads.remove("chat", "server-error", "eu");
    expect(await kept("chat")).toEqual([{ group: "us", message: "4" }]);
    await save("chat", "ap", "5", startMs + 91 * dayMs);
    expect(await kept("chat")).toEqual([{ group: "ap", message: "5" }]);
    const others = [{ rule: "server-error", group: "us", message: "3" }];
    expect(await messageThreads.ofReceiver("other")).toEqual(others);
  });
});
