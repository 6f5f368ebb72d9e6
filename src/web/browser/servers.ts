import { refresh } from "./live.ts";

/** Filters the list while somebody types, and keeps the address in step so that it can be shared. */

const quietMs = 150;

const form = document.querySelector<HTMLFormElement>("form[data-filters]");
const search = form?.querySelector<HTMLInputElement>("input[type=search]");
let timer = 0;
/** Whether what is typed now already has an entry of its own in the browser's history. */
let hasEntry = false;
let shown = location.search;

function apply(): void {
  if (!form) return;
  const fields = [...new FormData(form)].flatMap(([name, value]): [string, string][] =>
    typeof value === "string" && value.trim() !== "" ? [[name, value]] : [],
  );
  const query = new URLSearchParams(fields).toString();
  const address = location.pathname + (query === "" ? "" : `?${query}`);
  if (location.pathname + location.search === address) return;
  if (hasEntry) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  hasEntry = true;
  shown = location.search;
  void refresh();
}

form?.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(apply, quietMs);
});
form?.addEventListener("focusout", () => (hasEntry = false));
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  apply();
});
// The fields would still show what was typed later.
addEventListener("popstate", () => {
  if (location.search !== shown) location.reload();
});
addEventListener("keydown", (event) => {
  const isTyping =
    event.target instanceof Element && event.target.matches("input, select, textarea");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  search?.focus();
});
