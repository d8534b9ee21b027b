// Elements out of plain values. Words become text nodes and never markup.

/** An element with attributes, listeners (`onClick`) and children: elements, or anything else as text. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2).toLowerCase(), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const button = (says, onClick, attributes = {}) => el("button", { type: "button", onClick, ...attributes }, says);

/** Put other children into an element. */
export function fill(into, ...children) {
  into.replaceChildren(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
}

export const details = (says, attributes, ...children) => el("details", attributes, el("summary", {}, says), ...children);

let number = 0;

/** A name for an element that another one refers to. */
export const newId = (of) => `${of}-${(number += 1)}`;

/** A field with its label above it. */
export function labelled(says, field) {
  field.id ||= newId("field");
  return [el("label", { for: field.id }, says), field];
}
