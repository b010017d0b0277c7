// Refreshes what changes by itself, and shows times in the zone of the visitor. Every page works without it.
(() => {
  "use strict";
  const every = 2000;
  const stale = document.getElementById("stale");
  const fresh = document.getElementById("fresh");

  // localTimes shows the times below an element in the visitor's zone, or as a duration until now.
  const two = (n) => String(n).padStart(2, "0");
  const local = (t) =>
    `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
  const since = (t) => {
    const s = Math.max(0, Math.floor((Date.now() - t) / 1000));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
    return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
  };
  const localTimes = (root) => {
    for (const e of root.querySelectorAll("time[datetime]")) {
      const t = new Date(e.dateTime);
      if (isNaN(t)) continue;
      const text = e.hasAttribute("data-since") ? since(t) : local(t);
      if (e.textContent !== text) e.textContent = text;
      if (!e.title) e.title = e.hasAttribute("data-since") ? local(t) : t.toUTCString();
    }
  };

  // poll refreshes the live blocks while the page is visible.
  const poll = () => {
    localTimes(document);
    if (document.visibilityState !== "visible" || !window.htmx) return;
    for (const e of document.querySelectorAll("[hx-trigger~=poll]")) window.htmx.trigger(e, "poll");
  };
  let shown = new Date();
  const answered = (ok) => {
    if (ok) shown = new Date();
    else {
      fresh.dateTime = shown.toISOString();
      fresh.textContent = local(shown);
    }
    stale.hidden = ok;
  };
  const tags = new WeakMap();
  document.addEventListener("htmx:configRequest", (e) => {
    const tag = tags.get(e.detail.elt);
    if (tag) e.detail.headers["If-None-Match"] = tag;
  });
  document.addEventListener("htmx:afterRequest", (e) => {
    const { xhr, elt } = e.detail;
    const status = xhr ? xhr.status : 0;
    answered(status === 200 || status === 304);
    if (status === 200) tags.set(elt, xhr.getResponseHeader("ETag"));
  });
  // A block stays while the visitor edits a field in it, and the focus stays on the same link or button.
  let focused = "";
  const mark = (e) => e && (e.id ? `#${CSS.escape(e.id)}` : e.getAttribute("href") ? `a[href="${CSS.escape(e.getAttribute("href"))}"]` : "");
  document.addEventListener("htmx:beforeSwap", (e) => {
    const active = document.activeElement;
    const inside = e.detail.target.contains(active);
    if (inside && active.matches("input, select, textarea")) {
      e.detail.shouldSwap = false;
      tags.delete(e.detail.target);
    }
    focused = inside ? mark(active) : "";
  });
  document.addEventListener("htmx:afterSettle", (e) => {
    localTimes(e.detail.target);
    if (!focused) return;
    const again = e.detail.target.querySelector(focused);
    if (again && document.activeElement !== again) again.focus({ preventScroll: true });
  });

  // A form in a block that was refreshed has no token.
  document.addEventListener("submit", (e) => {
    const token = e.target.querySelector('input[name="csrf"]');
    if (token && !token.value) token.value = document.querySelector('.visitor input[name="csrf"]').value;
  });

  document.addEventListener("det:added", (e) => localTimes(e.target));

  localTimes(document);
  setInterval(poll, every);
  document.addEventListener("visibilitychange", poll);
})();
