// The page: who is asking, which view is shown, and the keys.

import { decoded } from "./addresses.js";
import { announce, clearNotice, failed } from "./announce.js";
import { button, el, fill, labelled } from "./elements.js";
import { counted } from "./phrases.js";
import { get, token } from "./server.js";
import { searchView } from "./search.js";
import { sessionsView } from "./sessions.js";
import { standingView } from "./standing.js";
import { madeView } from "./made.js";

const main = document.getElementById("main");
const VIEWS = { search: searchView, sessions: sessionsView, standing: standingView, made: madeView };
const state = { stats: null, kept: {} };

function place() {
  const [view, ...rest] = location.hash.slice(1).split("/");
  let name = "";
  try {
    name = decoded(rest.join("/"));
  } catch {
    // An address that somebody typed: the list is shown.
  }
  return { view: view in VIEWS ? view : "search", name };
}

async function show({ focus = true } = {}) {
  const { view, name } = place();
  for (const link of document.querySelectorAll("#views a")) {
    if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.setAttribute("aria-busy", "true");
  const isLast = () => place().view === view && place().name === name;
  try {
    if (await known()) await showView(view, name, focus, isLast);
  } finally {
    if (isLast()) main.removeAttribute("aria-busy");
  }
}

async function showView(view, name, focus, isLast) {
  const again = () => show({ focus: false });
  try {
    const made = await VIEWS[view]({ name, stats: state.stats, kept: state.kept, again: changed });
    if (!isLast()) return;
    fill(main, made);
    const heading = main.querySelector("h2");
    document.title = `${heading ? heading.textContent : "Memory"} · Memory inspector`;
    if (focus) (main.querySelector("[data-focus]") || main).focus();
  } catch (error) {
    refused(error, again);
  }
}

/** Something was corrected, pinned or forgotten: the view is shown anew where it was. */
async function changed() {
  const [left, top] = [scrollX, scrollY];
  state.stats = null;
  await show({ focus: false });
  scrollTo(left, top);
  main.focus({ preventScroll: true });
}

async function known() {
  if (state.stats) return true;
  try {
    state.stats = await get("stats");
  } catch (error) {
    refused(error, () => show());
    return false;
  }
  const { scope, turns, sessions, writes } = state.stats;
  fill(
    document.getElementById("whose"),
    el("bdi", {}, scope.join(" / ")),
    ` · ${counted(turns, "turn")} in ${counted(sessions, "session")}`,
    writes ? "" : " · this token may only read",
  );
  document.getElementById("views").hidden = false;
  document.getElementById("sign-out").hidden = !token.get();
  return true;
}

function refused(error, again) {
  if (error.status === 401) signIn(token.get() ? error.message : "");
  else fill(main, failed(error, again));
}

// -- the token ---------------------------------------------------------------------------------------------------------

function signIn(complaint) {
  token.clear();
  document.getElementById("views").hidden = true;
  document.getElementById("sign-out").hidden = true;
  fill(document.getElementById("whose"));
  const field = el("input", { type: "password", autocomplete: "off", required: true, spellcheck: "false", size: 40 });
  const form = el(
    "form",
    { class: "sign-in", onSubmit: (event) => enter(event, field) },
    el("h2", {}, "Sign in"),
    complaint && el("p", { class: "failure", role: "alert" }, `The server refused this token: ${complaint}`),
    el(
      "p",
      {},
      "This server asks for a token. It is kept in this tab until you close it, and never put into an address. ",
      "The person who runs the server makes one with ",
      el("code", {}, "secom token NAME"),
      ".",
    ),
    labelled("Token", field),
    el("button", { type: "submit" }, "Sign in"),
  );
  fill(main, form);
  document.title = "Sign in · Memory inspector";
  field.focus();
}

function enter(event, field) {
  event.preventDefault();
  if (!field.value.trim()) return;
  token.set(field.value.trim());
  field.value = "";
  forgetAll();
  show();
}

function forgetAll() {
  state.stats = null;
  state.kept = {};
}

document.getElementById("sign-out").addEventListener("click", () => {
  token.clear();
  forgetAll();
  clearNotice();
  signIn("");
  announce("You are signed out.");
});

// -- keys and addresses ------------------------------------------------------------------------------------------------

const isTyping = (target) => target.matches("input:not([type=range]):not([type=checkbox]), textarea, select");

document.addEventListener("keydown", (event) => {
  const field = document.getElementById("query");
  // In a field that is empty the key is pressed to come there, and no query begins with it.
  const isMeant = event.target === field ? !field.value : !isTyping(event.target);
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && isMeant && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    if (field) field.focus();
    else location.hash = "search";
  } else if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
    const open = event.target.closest?.("details[open]");
    if (!open) return clearNotice();
    open.open = false;
    open.querySelector("summary").focus();
  }
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

addEventListener("hashchange", () => {
  clearNotice();
  show();
});
addEventListener("error", () => {
  if (document.getElementById("wait")) fill(main, failed(new Error("The inspector could not start."), () => location.reload()));
});

show({ focus: false });
