// The server, by its own address. The token is sent in a header and kept in this tab, never in an address.

import { encoded } from "./addresses.js";

const ROOT = new URL("../v1/", import.meta.url);
const KEPT = "secom.token";

/** What went wrong, in a sentence, and what to do about it. */
export class Failure extends Error {
  constructor(message, next, status = 0) {
    super(message);
    this.next = next;
    this.status = status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEPT),
  set: (given) => sessionStorage.setItem(KEPT, given),
  clear: () => sessionStorage.removeItem(KEPT),
};

const NEXT = {
  400: "Change the value that the message names, and try again.",
  401: "Sign in with a token of this server; `secom token NAME` makes one.",
  403: "Sign in with a token that allows it; `secom token` makes one.",
  404: "It may have been forgotten meanwhile. Load the list again.",
  413: "Send less at once.",
  421: "Name this host in allowed_hosts, in the table [serve] of secom.toml, and start the server again.",
  429: "Wait a moment, and try again.",
  502: "Look at the log of the server, then try again.",
  503: "Try again in a moment; the log of the server says why.",
  504: "Try again. The server still completes a write that has begun.",
  wrong_origin: "Let the proxy pass the Host header on (nginx: proxy_set_header Host $http_host), then load this page again.",
};

async function asked(path, options) {
  const given = token.get();
  const headers = { ...options.headers, ...(given ? { authorization: `Bearer ${given}` } : {}) };
  let answer;
  try {
    answer = await fetch(new URL(path, ROOT), { ...options, headers, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error instanceof TypeError && /[^\x00-\xff]/.test(given || ""))
      throw new Failure("The token contains characters that are never in a token.", NEXT[401], 401);
    throw new Failure("The server does not answer.", "Start `secom serve` again, then try again.");
  }
  if (answer.ok) return answer.json();
  const told = await answer.json().catch(() => null);
  const message = told?.error?.message || `The server answered with the status ${answer.status}.`;
  throw new Failure(message, NEXT[told?.error?.code] || NEXT[answer.status] || "Look at the log of the server.", answer.status);
}

export const get = (path, { signal } = {}) => asked(path, { method: "GET", signal });

export const post = (path, body, { signal } = {}) =>
  asked(path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" }, signal });

/** The path of a call about a session; its name may hold anything. */
export const named = (path, name) => `${path}?name=${encoded(name)}`;
