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

  // Rows that match the search field: "cluster:3" by cluster, anything else by a part of the name.
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
  const fixed = (value) => (value === null ? "–" : value.toFixed(3));
  const plain = (n) => n.toLocaleString("en");
  // Draw the table anew: a fragment is inserted once, so that the browser lays out the page once.
  const show = () => {
    const found = matches();
    const lines = document.createDocumentFragment();
    for (const i of found.slice(0, limit)) {
      const row = document.createElement("tr");
      cell(row, "th", items.name[i], false);
      cell(row, "td", items.cluster[i], true);
      cell(row, "td", fixed(items.support[i]), true);
      cell(row, "td", items.runner_up[i] === null ? "–" : items.runner_up[i] < 0 ? "alone" : items.runner_up[i], true);
      cell(row, "td", fixed(items.probability[i]), true);
      lines.append(row);
    }
    body.replaceChildren(lines);
    // The page may not list all items: a search without results says so.
    const cut = rows.length < data.n_items && !found.length;
    const listed = `${items.support[0] === null ? "first" : "least certain"} ${plain(rows.length)}`;
    byId("found").textContent = `${plain(found.length)} of ${plain(rows.length)} item${rows.length === 1 ? "" : "s"}`
      + (cut ? `: only the ${listed} of ${plain(data.n_items)} items are listed` : "");
    byId("more").hidden = found.length <= limit;
  };
  // Texts with numbers in them in the order of the numbers: item 2 before item 10.
  const compare = (a, b) => typeof a === "string" || typeof b === "string"
    ? String(a).localeCompare(String(b), undefined, { numeric: true }) : a - b;
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

  // --- other tables: sorted by the numbers in their cells ---
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    // The number in a cell, without commas and percent signs; an empty cell comes first.
    const value = (row, column) => {
      const text = row.cells[column].textContent.replace(/[,%\s]/g, "");
      if (text === "-") return -Infinity;
      return Number.isNaN(Number(text)) ? row.cells[column].textContent : Number(text);
    };
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        const sortedRows = [...table.tBodies[0].rows].sort((a, b) => sign * compare(value(a, column), value(b, column)) || 0);
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        table.tBodies[0].append(...sortedRows);
      });
    });
  }

  // --- tables that are wider than the page say so ---
  const mark = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      box.classList.toggle("scrolls", box.scrollWidth > box.clientWidth + 1);
      box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    }
  };
  for (const box of document.querySelectorAll(".scroll")) box.addEventListener("scroll", mark, { passive: true });
  for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", mark);
  addEventListener("resize", mark);
  mark();

  // --- members of each cluster: folded where they are many, and found by name ---
  if (data.all) {
    const { name, cluster, per_mille } = data.all;
    const own = data.colors.map(() => []);
    cluster.forEach((c, i) => own[c].push(i));
    const order = own.map((_, c) => c).sort((a, b) => own[b].length - own[a].length || a - b);
    const called = (i) => (name ? name[i] : String(i));
    const most = 500;
    const list = byId("member-list");
    // The names of the items, as many as fit; a fold is filled when it is opened.
    const fill = (place, shown) => {
      const line = document.createElement("p");
      shown.slice(0, most).forEach((i, n) => {
        const isExemplar = data.exemplars && data.exemplars[cluster[i]] === i;
        const node = document.createElement(isExemplar ? "strong" : "span");
        node.textContent = called(i) + (per_mille && per_mille[i] < 500 ? "?" : "");
        if (per_mille) node.title = `support ${(per_mille[i] / 1000).toFixed(3)}`;
        line.append(n ? ", " : "", node);
      });
      if (shown.length > most) {
        const more = document.createElement("button");
        more.type = "button";
        more.textContent = `and ${plain(shown.length - most)} more`;
        more.addEventListener("click", () => { line.remove(); place.append(textOf(shown)); });
        line.append(" ", more);
      }
      place.append(line);
    };
    const textOf = (shown) => {
      const line = document.createElement("p");
      line.textContent = shown.map(called).join(", ");
      return line;
    };
    const show = () => {
      const text = byId("find").value.trim().toLowerCase();
      const folds = document.createDocumentFragment();
      let found = 0, clusters = 0;
      for (const c of order) {
        const shown = text ? own[c].filter((i) => called(i).toLowerCase().includes(text)) : own[c];
        if (!shown.length) continue;
        found += shown.length;
        clusters += 1;
        const fold = document.createElement("details");
        const head = document.createElement("summary");
        const swatch = document.createElement("span");
        swatch.className = "swatch";
        swatch.style.background = data.colors[c];
        const size = `${plain(own[c].length)} item${own[c].length === 1 ? "" : "s"}`;
        head.append(swatch, `Cluster ${c}: ${text ? `${plain(shown.length)} of ` : ""}${size}`);
        fold.append(head);
        // Few items, or few hits of a search, are shown at once.
        const open = text ? found <= 100 : cluster.length <= 120;
        fold.addEventListener("toggle", () => {
          if (fold.open && fold.children.length === 1) fill(fold, shown);
          rename();
        });
        if (open) { fill(fold, shown); fold.open = true; }
        folds.append(fold);
      }
      list.replaceChildren(folds);
      rename();
      byId("where").textContent = text
        ? `${plain(found)} item${found === 1 ? "" : "s"} in ${plain(clusters)} cluster${clusters === 1 ? "" : "s"}` : "";
    };
    byId("members").hidden = false;
    byId("find").addEventListener("input", show);
    // The button opens all folds if one is closed, else it closes all; its name says which.
    const someClosed = () => [...list.children].some((fold) => !fold.open);
    const rename = () => { byId("unfold").textContent = someClosed() ? "Open all" : "Close all"; };
    byId("unfold").addEventListener("click", () => {
      const open = someClosed();
      for (const fold of list.children) fold.open = open;
      rename();
    });
    show();
  }

  // --- files: pictures and labels ---
  const offer = (name, blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    // Freed later: the browser must have read it by then.
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  // The labels as csv, with the columns of `best.write_labels`.
  const labels = () => {
    const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    // What a spreadsheet would run gets a quote before it, as in `best.write_labels`.
    const disarmed = (text) => (/^'*[=+\-@\t\r\n]/.test(text) && isNaN(text) ? `'${text}` : text);
    const { name, cluster, per_mille } = data.all;
    const lines = [per_mille ? "item,cluster,certainty" : "item,cluster"];
    for (let i = 0; i < cluster.length; i++)
      lines.push(`${name ? quoted(disarmed(name[i])) : i},${cluster[i]}${per_mille ? `,${per_mille[i] / 1000}` : ""}`);
    return lines.join("\n") + "\n";
  };
  for (const link of document.querySelectorAll(".picture .save")) {
    link.href = link.closest("figure").querySelector("img").src;
    link.hidden = false;
  }
  if (data.all) {
    byId("csv").hidden = false;
    byId("csv").addEventListener("click", (event) => {
      event.preventDefault();
      offer("labels.csv", new Blob([labels()], { type: "text/csv" }));
    });
  }

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
        getSelection().selectAllChildren(node);  // pages opened from a file may not use the clipboard
        done(document.execCommand("copy") ? "Copied." : "Selected: press Ctrl+C.");
      }
    });
  }

  // --- the heatmap ---
  const map = data.heatmap;
  if (!map) return;
  const cells = Uint8Array.from(atob(map.cells), (c) => c.charCodeAt(0));
  const canvas = byId("heatmap");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // Colors from 0 to 1; lightness changes in one direction, so that they can be read without seeing color.
  const ramps = {
    light: [[255, 255, 255], [199, 221, 238], [107, 168, 208], [33, 102, 165], [8, 38, 84]],
    dark: [[18, 22, 29], [28, 62, 102], [36, 116, 168], [108, 186, 214], [236, 248, 236]],
  };
  // The color of a cell, interpolated between two neighboring colors of the scale.
  const color = (level) => {
    const ramp = dark.matches ? ramps.dark : ramps.light;
    const place = (level / 255) * (ramp.length - 1);
    const low = Math.min(Math.floor(place), ramp.length - 2);
    return ramp[low].map((v, c) => Math.round(v + (place - low) * (ramp[low + 1][c] - v)));
  };
  // Each cell is a square of this many pixels: at least 800 for the whole picture.
  const scale = Math.max(1, Math.ceil(800 / map.n));
  let drawn = null;
  let margin = 0;
  const paint = () => {
    const image = new ImageData(map.n, map.n);
    const table = Array.from({ length: 256 }, (_, level) => color(level));
    cells.forEach((level, i) => image.data.set([...table[level], 255], 4 * i));
    const small = document.createElement("canvas");
    small.width = small.height = map.n;
    small.getContext("2d").putImageData(image, 0, 0);
    // Names of the clusters on the left, as large as the text around the picture.
    const context = canvas.getContext("2d");
    const size = map.n * scale;
    const height = Math.round(13 * size / (canvas.clientWidth || 560));
    const font = `${height}px ${getComputedStyle(document.body).fontFamily}`;
    const ends = [0, ...map.cuts, map.shown];
    const named = ends.slice(1).map((end, i) => [map.clusters[ends[i]], (ends[i] + end) / 2 / map.shown * size, (end - ends[i]) / map.shown * size])
      .filter(([, , room]) => room >= 1.2 * height);
    context.font = font;
    // A strip in the colors of the clusters, where they have colors of their own, as in the picture of the data.
    const strip = data.colors.length > 1 && new Set(data.colors).size === data.colors.length ? Math.round(0.6 * height) : 0;
    margin = named.length ? Math.ceil(Math.max(...named.map(([label]) => context.measureText(label).width)) + 0.9 * height) : 0;
    margin += strip;
    canvas.width = size + margin;
    canvas.height = size;
    canvas.style.aspectRatio = `${canvas.width} / ${size}`;
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, size);
    context.fillStyle = getComputedStyle(document.querySelector("figcaption")).color;
    context.font = font;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const [label, y] of named) context.fillText(label, margin - strip - 0.45 * height, y);
    if (strip) for (let c = 0; c + 1 < ends.length; c++) {
      context.fillStyle = data.colors[map.clusters[ends[c]]];
      const top = ends[c] / map.shown * size;
      context.fillRect(margin - strip, top, strip - 3, ends[c + 1] / map.shown * size - top);
    }
    // A rim, for colors that are as dark, or as light, as the page.
    if (strip) {
      context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--edge");
      context.strokeRect(margin - strip, 0.5, strip - 3, size - 1);
    }
    context.translate(margin, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, size, size);
    const many = map.cuts.length > 12;  // finer lines, which do not hide the cells
    const strength = many ? .4 : .75;
    context.strokeStyle = dark.matches ? `rgb(255 157 92 / ${strength})` : `rgb(213 94 0 / ${strength})`;
    context.lineWidth = many ? .8 : 1.5;
    for (const cut of map.cuts) {
      const at = Math.round((cut / map.shown) * size) + 0.5;
      context.beginPath();
      context.moveTo(at, 0); context.lineTo(at, size);
      context.moveTo(0, at); context.lineTo(size, at);
      context.stroke();
    }
    context.strokeStyle = dark.matches ? "#313a48" : "#b9c2cf";
    context.strokeRect(0.5, 0.5, size - 1, size - 1);
    drawn = context.getImageData(0, 0, canvas.width, size);
    const stops = [0, 64, 128, 191, 255].map((level) => `rgb(${color(level)})`);
    document.querySelector(".ramp").style.background = `linear-gradient(to right, ${stops})`;
  };
  const at = { row: 0, column: 0 };
  const name = (i) => {
    const first = map.clusters[map.edges[i]], last = map.clusters[map.edges[i + 1] - 1];
    const where = first === last ? `cluster ${first}` : `clusters ${first} to ${last}`;
    return `${map.names[i]} (${where})`;
  };
  // Name the cell under the pointer below the picture, and frame it.
  const showCell = () => {
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
    at.column = clamp(Math.floor((((event.clientX - box.left) / box.width) * canvas.width - margin) / scale));
    at.row = clamp(Math.floor(((event.clientY - box.top) / box.height) * map.n));
    showCell();
  });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    at.row = clamp(at.row + step[0]);
    at.column = clamp(at.column + step[1]);
    showCell();
  });
  dark.addEventListener("change", paint);
  paint();
  byId("save-heatmap").hidden = false;
  byId("save-heatmap").addEventListener("click", (event) => {
    event.preventDefault();
    paint();
    canvas.toBlob((blob) => offer("similarity.png", blob));
  });
})();
