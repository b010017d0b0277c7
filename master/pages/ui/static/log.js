// Follows a log: new lines are added at its end, which stays in view while the reader is there.
(() => {
  "use strict";
  const log = document.getElementById("log");
  const state = document.getElementById("log-state");
  const mostLines = 5000;
  if (!log) return;
  const atEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  const toEnd = () => { log.scrollTop = log.scrollHeight; };
  toEnd();
  if (!log.dataset.stream) return;

  const follow = document.getElementById("follow");
  document.getElementById("follow-choice").hidden = false;
  let source = null;
  let last = "";
  let ended = false;

  const address = () => {
    const u = new URL(log.dataset.stream, location.href);
    if (last) u.searchParams.set("after", last);
    return u;
  };
  const close = () => {
    if (source) source.close();
    source = null;
  };
  const add = (e) => {
    const stay = atEnd();
    last = e.lastEventId;
    log.insertAdjacentHTML("beforeend", e.data);
    log.dispatchEvent(new CustomEvent("det:added", { bubbles: true }));
    for (let extra = log.children.length - mostLines; extra > 0; extra--) log.firstElementChild.remove();
    if (stay) toEnd();
    if (state.textContent) state.textContent = "";
  };
  const finish = (e) => {
    ended = true;
    close();
    state.textContent = e.data;
  };
  const open = () => {
    if (source || ended || !follow.checked || document.visibilityState !== "visible") return;
    source = new EventSource(address());
    source.addEventListener("lines", add);
    source.addEventListener("end", finish);
    source.addEventListener("problem", finish);
    source.addEventListener("error", () => {
      if (source && source.readyState === EventSource.CLOSED) {
        close();
        setTimeout(open, 5000);
      }
    });
  };
  // A hidden page holds no connection.
  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? open() : close()));
  follow.addEventListener("change", () => (follow.checked ? open() : close()));
  open();
})();
