"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  // --- the table of items: sort, search, show more ---
  const items = data.items;
  const page = 100;
  const body = byId("item-table").tBodies[0];
  let rows = items.name.map((_, i) => i);
  let sorted = { key: "support", sign: 1 };
  let limit = page;

  const matches = () => {
    const text = byId("search").value.trim().toLowerCase();
    const cluster = text.match(/^cluster:\s*(\d+)$/);
    if (cluster) return rows.filter((i) => items.cluster[i] === Number(cluster[1]));
    return text ? rows.filter((i) => items.name[i].toLowerCase().includes(text)) : rows;
  };
  const cell = (row, tag, text, number) => {
    const node = document.createElement(tag);
    node.textContent = text;
    if (tag === "th") node.scope = "row";
    if (number) node.className = "number";
    row.append(node);
  };
  const show = () => {
    const found = matches();
    const lines = document.createDocumentFragment();
    for (const i of found.slice(0, limit)) {
      const row = document.createElement("tr");
      cell(row, "th", items.name[i], false);
      cell(row, "td", items.cluster[i], true);
      cell(row, "td", items.support[i].toFixed(3), true);
      cell(row, "td", items.runner_up[i] < 0 ? "alone" : items.runner_up[i], true);
      cell(row, "td", items.probability[i].toFixed(3), true);
      lines.append(row);
    }
    body.replaceChildren(lines);
    byId("found").textContent = `${found.length} of ${rows.length} items`;
    byId("more").hidden = found.length <= limit;
  };
  const compare = (a, b) => typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
  for (const head of document.querySelectorAll("#item-table th[data-key]")) {
    head.querySelector("button").addEventListener("click", () => {
      const key = head.dataset.key;
      sorted = { key, sign: sorted.key === key ? -sorted.sign : 1 };
      rows = [...rows].sort((a, b) => sorted.sign * compare(items[key][a], items[key][b]) || a - b);
      for (const other of document.querySelectorAll("#item-table th[data-key]")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", sorted.sign > 0 ? "ascending" : "descending");
      limit = page;
      show();
    });
  }
  byId("search").addEventListener("input", () => { limit = page; show(); });
  byId("more").addEventListener("click", () => { limit += 4 * page; show(); });
  show();

  // --- the heatmap ---
  const map = data.heatmap;
  const cells = Uint8Array.from(atob(map.cells), (c) => c.charCodeAt(0));
  const canvas = byId("heatmap");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // Stops from 0 to 1; lightness changes one way, so that it can be read without colours.
  const ramps = {
    light: [[255, 255, 255], [199, 221, 238], [107, 168, 208], [33, 102, 165], [8, 38, 84]],
    dark: [[18, 22, 29], [28, 62, 102], [36, 116, 168], [108, 186, 214], [236, 248, 236]],
  };
  const colour = (level) => {
    const ramp = dark.matches ? ramps.dark : ramps.light;
    const place = (level / 255) * (ramp.length - 1);
    const low = Math.min(Math.floor(place), ramp.length - 2);
    return ramp[low].map((v, c) => Math.round(v + (place - low) * (ramp[low + 1][c] - v)));
  };
  const scale = Math.max(1, Math.ceil(800 / map.n));
  let drawn = null;
  const paint = () => {
    const image = new ImageData(map.n, map.n);
    const table = Array.from({ length: 256 }, (_, level) => colour(level));
    cells.forEach((level, i) => image.data.set([...table[level], 255], 4 * i));
    const small = document.createElement("canvas");
    small.width = small.height = map.n;
    small.getContext("2d").putImageData(image, 0, 0);
    canvas.width = canvas.height = map.n * scale;
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
    const many = map.cuts.length > 25;  // finer lines, which leave the cells to be seen
    const strength = many ? .4 : .75;
    context.strokeStyle = dark.matches ? `rgb(255 157 92 / ${strength})` : `rgb(213 94 0 / ${strength})`;
    context.lineWidth = many ? .8 : 1.5;
    const size = canvas.width;
    if (map.cuts.length < 100) for (const cut of map.cuts) {
      const at = Math.round((cut / map.shown) * size) + 0.5;
      context.beginPath();
      context.moveTo(at, 0); context.lineTo(at, size);
      context.moveTo(0, at); context.lineTo(size, at);
      context.stroke();
    }
    context.strokeStyle = dark.matches ? "#313a48" : "#b9c2cf";
    context.strokeRect(0.5, 0.5, size - 1, size - 1);
    drawn = context.getImageData(0, 0, size, size);
    const stops = [0, 64, 128, 191, 255].map((level) => `rgb(${colour(level)})`);
    document.querySelector(".ramp").style.background = `linear-gradient(to right, ${stops})`;
  };
  const at = { row: 0, column: 0 };
  const name = (i) => {
    const first = map.clusters[map.edges[i]], last = map.clusters[map.edges[i + 1] - 1];
    const where = first === last ? `cluster ${first}` : `clusters ${first} to ${last}`;
    return `${map.names[i]} (${where})`;
  };
  const tell = () => {
    const p = cells[at.row * map.n + at.column] / 255;
    byId("hover").textContent = `${name(at.row)} and ${name(at.column)}: ${p.toFixed(2)}`;
    const context = canvas.getContext("2d");
    context.putImageData(drawn, 0, 0);
    context.lineWidth = 2;
    context.strokeStyle = dark.matches ? "#ffffff" : "#000000";
    const side = Math.max(scale, 6), off = (side - scale) / 2;
    context.strokeRect(at.column * scale - off, at.row * scale - off, side, side);
  };
  const clamp = (v) => Math.max(0, Math.min(map.n - 1, v));
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    at.column = clamp(Math.floor(((event.clientX - box.left) / box.width) * map.n));
    at.row = clamp(Math.floor(((event.clientY - box.top) / box.height) * map.n));
    tell();
  });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    at.row = clamp(at.row + step[0]);
    at.column = clamp(at.column + step[1]);
    tell();
  });
  dark.addEventListener("change", paint);
  paint();

  // --- copying the paragraph ---
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      const node = byId(button.dataset.copy);
      const text = [...node.querySelectorAll("p, li")].map((part) => part.textContent.trim()).join("\n\n");
      const done = (message) => { byId("copied").textContent = message; };
      try {
        await navigator.clipboard.writeText(text);
        done("Copied.");
      } catch {
        getSelection().selectAllChildren(node);  // pages opened from a file may not reach the clipboard
        done(document.execCommand("copy") ? "Copied." : "Selected: press Ctrl+C.");
      }
    });
  }
})();
