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

  // --- members of each cluster: folded where they are many ---
  if (data.all) {
    const { name, cluster, per_mille } = data.all;
    const own = data.colors.map(() => []);
    cluster.forEach((c, i) => own[c].push(i));
    const called = (i) => (name ? name[i] : String(i));
    const most = 500;
    // The names of the items, as many as fit; a fold is filled when it is opened.
    const fill = (fold, members) => {
      const line = document.createElement("p");
      members.slice(0, most).forEach((i, n) => {
        const isExemplar = data.exemplars && data.exemplars[cluster[i]] === i;
        const node = document.createElement(isExemplar ? "strong" : "span");
        node.textContent = called(i) + (per_mille && per_mille[i] < 500 ? "?" : "");
        if (per_mille) node.title = `support ${(per_mille[i] / 1000).toFixed(3)}`;
        line.append(n ? ", " : "", node);
      });
      if (members.length > most) line.append(`, and ${plain(members.length - most)} more: see the labels as csv`);
      fold.append(line);
    };
    own.forEach((members, c) => {
      const fold = document.createElement("details");
      const head = document.createElement("summary");
      const swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = data.colors[c];
      head.append(swatch, `Cluster ${c}: ${plain(members.length)} item${members.length === 1 ? "" : "s"}`);
      fold.append(head);
      fold.addEventListener("toggle", () => { if (fold.open && fold.children.length === 1) fill(fold, members); });
      fold.open = cluster.length <= 120;
      byId("member-list").append(fold);
    });
    byId("members").hidden = false;
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
    const { name, cluster, per_mille } = data.all;
    const lines = [per_mille ? "item,cluster,certainty" : "item,cluster"];
    for (let i = 0; i < cluster.length; i++)
      lines.push(`${name ? quoted(name[i]) : i},${cluster[i]}${per_mille ? `,${per_mille[i] / 1000}` : ""}`);
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
})();
