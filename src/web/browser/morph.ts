/**
 * Makes the content of an element that of another one. Nodes that stay keep their focus, selection, scroll position and
 * listeners. An element with `data-keep` belongs to a script and stays as it is.
 */
export function morph(current: Element, next: Element): void {
  if (current.isEqualNode(next) || current.hasAttribute("data-keep")) return;
  morphAttributes(current, next);
  const wantedIds = new Set(Array.from(next.children, ({ id }) => id));
  // First of all, so that what stays need not be moved, which would take its focus.
  for (const child of Array.from(current.children)) if (!wantedIds.has(child.id)) child.remove();
  const named = new Map(Array.from(current.children, (child) => [child.id, child]));
  let at = current.firstChild;
  for (const wanted of next.childNodes) {
    const found = findSame(wanted, at, named);
    if (found === null) {
      current.insertBefore(document.importNode(wanted, true), at);
      continue;
    }
    if (found === at) at = at.nextSibling;
    else current.insertBefore(found, at);
    if (found instanceof Element && wanted instanceof Element) morph(found, wanted);
    else if (found.nodeValue !== wanted.nodeValue) found.nodeValue = wanted.nodeValue;
  }
  while (at !== null) {
    const { nextSibling } = at;
    at.remove();
    at = nextSibling;
  }
}

/** The node that becomes the wanted one: that of the same id, or else the next one if it is of the same kind. */
function findSame(
  wanted: Node,
  at: ChildNode | null,
  named: ReadonlyMap<string, Element>,
): ChildNode | null {
  const id = wanted instanceof Element ? wanted.id : "";
  const found = id === "" ? at : (named.get(id) ?? null);
  const isSame =
    found?.nodeName === wanted.nodeName && (found instanceof Element ? found.id : "") === id;
  return isSame ? found : null;
}

function morphAttributes(current: Element, next: Element): void {
  for (const name of current.getAttributeNames()) {
    if (!next.hasAttribute(name) && !isReaders(current, name)) current.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (current.getAttribute(name) !== value && !isReaders(current, name)) {
      current.setAttribute(name, value);
    }
  }
}

/** Whether an attribute shows what the reader did, not what the server says. */
function isReaders(element: Element, name: string): boolean {
  return name === "open" && /^(?:DETAILS|DIALOG)$/.test(element.nodeName);
}
