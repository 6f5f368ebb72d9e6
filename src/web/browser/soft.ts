import { refresh } from "./live.ts";

/** Shows a page of this site without loading all of it. */
export async function go(href: string): Promise<void> {
  history.pushState(null, "", href);
  await refresh();
}

/** Links and forms with `data-soft` change the address and what differs on the page. */
export function followSoftly(): void {
  document.addEventListener("click", (event) => {
    const { target, button } = event;
    const isPlain =
      button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    const link =
      target instanceof Element ? target.closest<HTMLAnchorElement>("a[data-soft]") : null;
    if (!link || !isPlain) return;
    event.preventDefault();
    void go(link.href);
  });
  document.addEventListener("submit", (event) => {
    const { target } = event;
    if (!(target instanceof HTMLFormElement) || target.dataset["soft"] === undefined) return;
    event.preventDefault();
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(target)) {
      if (typeof value === "string" && value !== "") query.set(name, value);
    }
    void go(`${target.action.replace(/\?.*/, "")}?${query}`);
  });
  window.addEventListener("popstate", () => void refresh());
}
