// What is told to whoever looks and to whoever listens.

import { button, el, fill } from "./elements.js";

/** Tell screen readers, without moving the focus. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

/** Show above the page what was done, until it is closed or something else is done. */
export function notice(text) {
  const place = document.getElementById("notice");
  fill(place, el("p", {}, text), button("Close this message", clearNotice));
  place.hidden = false;
  announce(text);
}

export function clearNotice() {
  const place = document.getElementById("notice");
  place.hidden = true;
  place.replaceChildren();
}

/** What went wrong, what to do, and a way to try it again. */
export function failed(error, again) {
  if (!error.next) console.error(error);
  const next = error.next || "Load the page again. If the error comes back, tell the person who runs this server.";
  return el(
    "div",
    { class: "failure", role: "alert" },
    el("p", {}, el("strong", {}, error.message)),
    el("p", {}, next),
    again && button("Try again", again),
  );
}

/** What to do where there is nothing. */
export const empty = (...says) => el("div", { class: "empty" }, says.map((each) => el("p", {}, each)));
