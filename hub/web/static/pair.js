// The pairing page. The API key lives in a variable of this script alone: no
// cookie, no storage, so that no other page can act with it.
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const sections = ["ask", "decide", "done"];
  let key = "";
  let code = "";
  let ends = 0; // when the pairing runs out, by performance.now()
  let ticking = 0;

  // A code in the fragment came from the link that the machine shows. It is taken
  // out of the address, so that it stays in no history.
  const given = new URLSearchParams(location.hash.slice(1)).get("code");
  if (given) {
    $("code").value = given;
    history.replaceState(null, "", location.pathname);
  }
  (given ? $("key") : $("code")).focus();

  function show(section) {
    for (const s of sections) $(s).hidden = s !== section;
    $(section + "-title").focus();
  }

  function complain(message, hint, field) {
    const alert = $("alert");
    alert.replaceChildren();
    for (const input of document.querySelectorAll("input")) input.removeAttribute("aria-invalid");
    alert.hidden = !message;
    if (!message) return;
    const what = document.createElement("strong");
    what.textContent = message;
    alert.append(what);
    if (hint) {
      const how = document.createElement("span");
      how.textContent = hint;
      alert.append(how);
    }
    if (field) {
      $(field).setAttribute("aria-invalid", "true");
      $(field).focus();
    }
  }

  class Refusal extends Error {
    constructor(body) {
      super(body.message);
      Object.assign(this, body);
    }
  }

  async function call(method, path, body) {
    let response;
    try {
      response = await fetch("/api/v1" + path, {
        method,
        headers: { Authorization: "Bearer " + key, ...(body && { "Content-Type": "application/json" }) },
        body: body && JSON.stringify(body),
        credentials: "omit",
        cache: "no-store",
      });
    } catch {
      throw new Refusal({ code: "unavailable", message: "The hub cannot be reached.", hint: "See whether it runs, and try again." });
    }
    let answer;
    try {
      answer = await response.json();
    } catch {
      throw new Refusal({ code: "internal", message: "The hub's answer cannot be read (status " + response.status + ").", hint: "Try again." });
    }
    if (!response.ok) throw new Refusal(answer);
    return answer;
  }

  function refused(error) {
    const field = { unauthenticated: "key", not_found: "code" }[error.code];
    const there = field && !$("ask").hidden ? field : null;
    complain(sentence(error.message), error.hint && sentence(error.hint), there);
  }

  function sentence(text) {
    const s = text.charAt(0).toUpperCase() + text.slice(1);
    return /[.!?]$/.test(s) ? s : s + ".";
  }

  async function busy(work) {
    const buttons = [...document.querySelectorAll("button")];
    for (const b of buttons) b.disabled = true;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refused(error);
    } finally {
      for (const b of buttons) b.disabled = false;
      tick();
    }
  }

  function present(view) {
    const m = view.machine;
    $("hostname").textContent = m.hostname || "unnamed";
    $("system").textContent = [m.os, m.arch].filter(Boolean).join(" ") + (m.version ? ", runnerctl " + m.version : "");
    $("address").textContent = view.address || "unknown";
    $("fingerprint").textContent = view.fingerprint;
    $("workspace").textContent = view.workspace || "none, it becomes your own runner";
    $("scope").textContent = view.workspace ? "for every member of " + view.workspace : "for you";
    $("shown-code").textContent = code;
    $("label").value = view.label || "";
    ends = performance.now() + view.expires_in_ms;
    clearInterval(ticking);
    ticking = setInterval(tick, 1000);
    show("decide");
  }

  function tick() {
    if ($("decide").hidden) {
      clearInterval(ticking);
      return;
    }
    const seconds = Math.max(0, Math.ceil((ends - performance.now()) / 1000));
    $("left").textContent = Math.floor(seconds / 60) + ":" + String(seconds % 60).padStart(2, "0");
    if (seconds === 0) {
      $("approve").disabled = $("deny").disabled = true;
      $("left").textContent = "expired; run runnerctl pair again";
      clearInterval(ticking);
    }
  }

  async function decide(approve) {
    const body = { user_code: code, approve };
    const label = $("label").value.trim();
    if (approve && label) body.label = label;
    const view = await call("POST", "/pairing/decide", body);
    complain("");
    const name = view.machine.hostname || "The machine";
    $("done-title").textContent = approve ? "Approved" : "Denied";
    $("done-text").textContent = approve
      ? name + " is being paired. You can close this page; runnerctl goes on by itself."
      : name + " was turned away. If you did not ask for it, somebody else may have your code.";
    show("done");
  }

  $("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    complain("");
    code = $("code").value.trim().toUpperCase();
    key = $("key").value.trim();
    if (!code) return complain("Enter the code.", "runnerctl pair shows it on the machine.", "code");
    if (!key) return complain("Enter your API key.", "It starts with ak_.", "key");
    busy(async () => {
      const view = await call("GET", "/pairing/" + encodeURIComponent(code));
      complain("");
      if (view.state !== "pending") {
        return complain("This pairing is " + view.state + ".", "Run runnerctl pair again; a code works once.", "code");
      }
      present(view);
    });
  });

  $("decide-form").addEventListener("submit", (event) => {
    event.preventDefault();
    busy(() => decide(true));
  });
  $("deny").addEventListener("click", () => busy(() => decide(false)));
  for (const id of ["back", "more"]) {
    $(id).addEventListener("click", () => {
      complain("");
      $("code").value = "";
      show("ask");
      $("code").focus();
    });
  }
})();
