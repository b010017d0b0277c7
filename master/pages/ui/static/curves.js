// Draws curves of metrics, and follows them while they grow. Without it, the page shows an image of the master.
(() => {
  "use strict";
  if (!window.uPlot) return;
  const every = 2000;
  const palette = () => {
    const css = getComputedStyle(document.documentElement);
    const of = (name) => css.getPropertyValue(name).trim();
    const colours = [];
    for (let i = 1; i <= 6; i++) colours.push(of(`--series-${i}`));
    return { text: of("--muted"), grid: of("--soft"), other: of("--line"), bad: of("--bad"), colours };
  };
  // Curves beyond the colours are dashed, so that no two look alike.
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
  const round = (v) => (v == null ? "–" : String(Number(v.toPrecision(6))));

  // Times on the axis, as the pages write them: by the distance of marks, the text of one, and what is added at the
  // first of a year, month, day, hour, minute or second.
  const times = [
    [31536000, "{YYYY}", null, null, null, null, null, null, 1],
    [2419200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
    [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
    [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
    [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
    [0.001, "{HH}:{mm}:{ss}.{fff}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  ];

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.form = figure.parentElement.querySelector(".chart-form");
      this.box = figure.appendChild(document.createElement("div"));
      this.readout = figure.appendChild(document.createElement("figcaption"));
      this.legend = figure.appendChild(document.createElement("ul"));
      this.legend.className = "legend";
      this.readout.className = "small muted";
      this.log = figure.hasAttribute("data-log");
      this.tag = "";
      this.plot = null;
      if (this.form) {
        this.form.addEventListener("change", () => this.change());
        this.form.querySelector("button").hidden = true;
      }
      new ResizeObserver(() => this.plot && this.plot.setSize(this.size())).observe(this.figure);
      this.load();
    }

    size() {
      return { width: Math.max(240, this.figure.clientWidth), height: this.figure.clientWidth < 500 ? 240 : 320 };
    }

    // change takes the values of the form into the address of the page and of the data.
    change() {
      const page = new URL(location.href);
      const src = new URL(this.figure.dataset.src, location.href);
      for (const e of this.form.elements) {
        if (!e.name || e.type === "hidden") continue;
        const value = e.type === "checkbox" ? (e.checked ? e.value : "") : e.value;
        for (const u of [page, src]) {
          if (value && value !== "0") u.searchParams.set(e.name, value);
          else u.searchParams.delete(e.name);
        }
        if (e.name === "log") this.log = e.checked;
      }
      history.replaceState(null, "", page);
      this.figure.dataset.src = src.pathname + src.search;
      const csv = this.form.querySelector("a.csv");
      if (csv) csv.href = src.pathname.replace(/json$/, "csv") + src.search;
      const note = this.figure.parentElement.querySelector(".smoothed");
      const smooth = src.searchParams.get("smooth");
      if (note) {
        note.hidden = !smooth;
        note.querySelector("span").textContent = smooth || "";
      }
      this.tag = "";
      this.load(true);
    }

    // load reads the data and draws them. Long answers are a lot of work for the master: the next is not asked
    // for before ten times as long has passed.
    async load(rebuild) {
      const began = performance.now();
      this.next = Infinity;
      try {
        await this.read(rebuild);
      } finally {
        const now = performance.now();
        this.next = now + 10 * (now - began);
      }
    }

    async read(rebuild) {
      const src = this.figure.dataset.src;
      let answer;
      try {
        answer = await fetch(src, { headers: this.tag ? { "If-None-Match": this.tag } : {}, signal: AbortSignal.timeout(60000) });
      } catch {
        return;
      }
      if (answer.status !== 200 || src !== this.figure.dataset.src) return;
      this.tag = answer.headers.get("ETag") || "";
      const data = await answer.json();
      if (src === this.figure.dataset.src) this.draw(data, rebuild);
    }

    draw(data, rebuild) {
      const shown = data.curves.filter((c) => c.x.length > 0);
      shown.sort((a, b) => (b.other ? 1 : 0) - (a.other ? 1 : 0));
      this.live = data.live;
      this.figure.classList.toggle("is-empty", shown.length === 0);
      if (shown.length === 0) {
        this.readout.textContent = data.live ? `Nothing has reported ${data.y} yet.` : `Nothing has reported ${data.y}.`;
        if (this.plot) this.plot.destroy();
        this.plot = null;
        this.legend.replaceChildren();
        return;
      }
      const positive = (v) => (v == null || (this.log && v <= 0) ? null : v);
      const table = uPlot.join(shown.map((c) => [c.x, c.y.map(positive)]));
      const names = shown.map((c) => c.name).join("\n");
      const zoomed = this.plot && this.zoom;
      if (this.plot && !rebuild && this.names === names) {
        this.curves = shown;
        this.plot.setData(table, !zoomed);
      } else {
        this.build(data, shown, table);
      }
      this.names = names;
      this.data = data;
      this.describe();
    }

    // describe says what the curves cannot show.
    describe() {
      const lost = this.curves.reduce((n, c) => n + (c.lost ? c.lost.length : 0), 0);
      const hidden = this.log ? this.curves.reduce((n, c) => n + c.y.filter((v) => v !== null && v <= 0).length, 0) : 0;
      const parts = [];
      if (lost) parts.push(`${lost} ${lost === 1 ? "value is" : "values are"} not a number (× at the upper edge).`);
      if (hidden) parts.push(`${hidden} ${hidden === 1 ? "value has" : "values have"} no place on a logarithmic axis.`);
      this.idle = parts.join(" ");
      this.readout.textContent = this.idle || "\u00a0";
    }

    build(data, shown, table) {
      if (this.plot) this.plot.destroy();
      const p = palette();
      this.curves = shown;
      let n = 0;
      this.look = shown.map((c) => {
        if (c.other) return { stroke: p.other, dash: [] };
        const i = n++;
        return { stroke: p.colours[i % p.colours.length], dash: dashes[Math.floor(i / p.colours.length) % dashes.length] };
      });
      const axis = { stroke: p.text, grid: { stroke: p.grid, width: 1 }, ticks: { stroke: p.grid, width: 1 }, font: "11px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 18 };
      const few = shown.length <= 3 && shown.every((c) => c.x.length <= 60);
      this.plot = new uPlot(
        {
          ...this.size(),
          legend: { show: false },
          cursor: { focus: { prox: 24 }, drag: { x: true, y: false } },
          focus: { alpha: shown.length > 1 ? 0.35 : 1 },
          scales: { x: { time: data.time }, y: { distr: this.log ? 3 : 1 } },
          axes: [data.time ? { ...axis, values: times, space: 90 } : { ...axis, label: data.x, size: 30 }, { ...axis, label: data.y, size: 64, values: (u, ticks) => ticks.map((v) => (v == null ? "" : round(v))) }],
          series: [{}, ...shown.map((c, i) => ({ label: c.name, stroke: this.look[i].stroke, dash: this.look[i].dash, width: c.other ? 1 : 1.5, spanGaps: false, points: { show: few || c.x.length === 1, size: 5 } }))],
          hooks: {
            draw: [(u) => this.markLost(u)],
            setCursor: [(u) => this.tell(u)],
            setSeries: [(u, i) => { this.near = i; this.tell(u); }],
            setScale: [(u, key) => key === "x" && this.keepRange(u)],
          },
        },
        table,
        this.box,
      );
      const range = new URLSearchParams(location.search);
      const from = Number(range.get("from")), to = Number(range.get("to"));
      if (!this.ranged && range.has("from") && range.has("to") && from < to) this.plot.setScale("x", { min: from, max: to });
      this.ranged = true;
      this.legend.replaceChildren(...shown.map((c, i) => [c, i]).filter(([c]) => !c.other).map(([c, i]) => this.key(c, i)));
    }

    // key returns the entry of a curve in the legend.
    key(c, i) {
      const item = document.createElement("li");
      const ns = "http://www.w3.org/2000/svg";
      const svg = document.createElementNS(ns, "svg");
      svg.setAttribute("viewBox", "0 0 24 10");
      svg.setAttribute("class", "key");
      const line = svg.appendChild(document.createElementNS(ns, "path"));
      line.setAttribute("d", "M0 5h24");
      line.setAttribute("stroke", this.look[i].stroke);
      line.setAttribute("stroke-dasharray", this.look[i].dash.join(" "));
      const text = document.createElement(c.link ? "a" : "span");
      if (c.link) text.href = c.link;
      text.textContent = c.name;
      item.append(svg, text);
      const focus = (on) => this.plot && this.plot.setSeries(i + 1, { focus: on });
      item.addEventListener("mouseenter", () => focus(true));
      item.addEventListener("mouseleave", () => this.plot && this.plot.setSeries(null, { focus: true }));
      return item;
    }

    markLost(u) {
      const c = u.ctx;
      c.save();
      c.lineWidth = 1.5 * devicePixelRatio;
      const r = 3.5 * devicePixelRatio;
      this.curves.forEach((curve, i) => {
        c.strokeStyle = this.look[i].stroke;
        for (const x of curve.lost || []) {
          const at = u.valToPos(x, "x", true);
          if (at < u.bbox.left || at > u.bbox.left + u.bbox.width) continue;
          const y = u.bbox.top + r + 1;
          c.beginPath();
          c.moveTo(at - r, y - r); c.lineTo(at + r, y + r);
          c.moveTo(at + r, y - r); c.lineTo(at - r, y + r);
          c.stroke();
        }
      });
      c.restore();
    }

    // tell says the value of the curve that is nearest to the pointer.
    tell(u) {
      const { idx, idxs } = u.cursor;
      const i = this.near || (this.curves && this.curves.length === 1 ? 1 : null);
      const at = i && idxs && idxs[i] != null ? idxs[i] : idx;
      if (at == null || !i || !this.curves[i - 1]) {
        this.readout.textContent = this.idle || "\u00a0";
        return;
      }
      const x = u.data[0][at];
      const where = this.data && this.data.time ? new Date(x * 1000).toLocaleString("sv") /* as the pages write times */ : `${this.data ? this.data.x : ""} ${round(x)}`;
      this.readout.textContent = `${this.curves[i - 1].name}: ${round(u.data[i][at])} at ${where}`;
    }

    // keepRange keeps a range that the visitor has zoomed to in the address.
    keepRange(u) {
      const x = u.data[0], { min, max } = u.scales.x;
      if (!x.length || min == null || max == null) return;
      const zoom = min > x[0] || max < x[x.length - 1];
      if (!zoom && !this.zoom) return;
      this.zoom = zoom;
      const page = new URL(location.href);
      for (const [name, value] of [["from", min], ["to", max]]) {
        if (zoom) page.searchParams.set(name, u.scales.x.time ? value.toFixed(3) : round(value));
        else page.searchParams.delete(name);
      }
      history.replaceState(null, "", page);
    }
  }

  const charts = [...document.querySelectorAll("figure.curves")].map((f) => new Chart(f));
  const poll = () => {
    if (document.visibilityState !== "visible") return;
    for (const c of charts) if (c.live !== false && performance.now() >= c.next) c.load();
  };
  setInterval(poll, every);
  document.addEventListener("visibilitychange", poll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const c of charts) { c.tag = ""; c.load(true); }
  });
})();
