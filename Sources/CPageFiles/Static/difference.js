import { h, empty } from "./dom.js";

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** The value at a JSON Pointer (RFC 6901). */
function at(document, pointer) {
  return pointer.split("/").slice(1).reduce((value, part) => value?.[part.replaceAll("~1", "/").replaceAll("~0", "~")], document);
}

/** Marks what two texts do not share: all but their common beginning and end, by words. */
function marked(one, other) {
  const [a, b] = [one.split(/(\s+)/), other.split(/(\s+)/)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const middle = a.slice(start, a.length - end).join("");
  return [a.slice(0, start).join(""), middle && h("mark", {}, middle), a.slice(a.length - end).join("")];
}

/** A JSON Patch (RFC 6902) of `before`, as what was and what is. */
export function difference(operations, before) {
  if (operations.length === 0) return empty("No difference.");
  return h("div", {}, operations.map(({ op, path, value }) => {
    const old = op === "add" ? undefined : at(before, path);
    const both = old !== undefined && op === "replace";
    return h("div", { class: "change" }, h("code", {}, path === "" ? "the whole document" : path),
      old !== undefined && h("del", {}, h("span", { class: "hidden" }, "Before: "), both ? marked(text(old), text(value)) : text(old)),
      op !== "remove" && h("ins", {}, h("span", { class: "hidden" }, "After: "), both ? marked(text(value), text(old)) : text(value)));
  }));
}
