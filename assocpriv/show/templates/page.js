"use strict";
// Sorts and filters the tables of this page, and shows the first rows of long ones; without it they are as written.
const LONG = 40;
const figure = (text) => parseFloat(text.replaceAll(",", "").replace("?", ""));
for (const table of document.querySelectorAll("table[id]")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const cells = [...table.tHead.rows[0].cells];
  const numbers = cells.map((head) => head.className === "number");
  const heads = cells.map((head) => head.textContent.toLowerCase());
  const count = document.getElementById(`${table.id}-count`);
  const box = document.getElementById(`${table.id}-filter`);
  const more = document.createElement("button");
  let all = rows.length <= LONG;
  const valueOf = (row, place) => {
    const text = row.cells[place].textContent;
    if (!numbers[place]) return text;
    const value = figure(text);
    return Number.isNaN(value) ? -1 : value; // what is not known comes last
  };
  // a word that a row holds, or a bound on a column of numbers: lift>2
  const matches = (row, text, word) => {
    const [, name, sign, bound] = /^(\p{L}+)([<>]=?)([\d.,]+)%?$/u.exec(word) ?? [];
    const place = heads.indexOf(name);
    if (!numbers[place]) return text.includes(word);
    const value = figure(row.cells[place].textContent);
    const most = figure(bound);
    return (sign.length > 1 && value === most) || (sign[0] === ">" ? value > most : value < most);
  };
  const show = () => {
    const words = box.value.toLocaleLowerCase().replace(/\s*([<>]=?)\s*/g, "$1").split(/\s+/).filter(Boolean);
    let found = 0;
    for (const row of rows) {
      const text = row.textContent.toLocaleLowerCase();
      const fits = words.every((word) => matches(row, text, word));
      found += fits ? 1 : 0;
      row.hidden = !fits || (!all && found > LONG);
    }
    more.hidden = all || found <= LONG;
    more.textContent = `Show all ${found}`;
    count.textContent = words.length ? `${found} of ${rows.length} rows` : "";
  };
  const sort = (head, place) => {
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const each of cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = (one, other) => (typeof one === "number" ? one - other : one.localeCompare(other));
    rows.sort((one, other) => (down ? -1 : 1) * order(valueOf(one, place), valueOf(other, place)));
    body.append(...rows);
    show();
  };
  cells.forEach((head, place) => {
    if ("fixed" in head.dataset || !head.textContent) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head, place));
    head.append(button);
  });
  more.className = "quiet";
  more.addEventListener("click", () => {
    all = true;
    show();
  });
  table.after(more);
  box.addEventListener("input", show);
  box.parentElement.hidden = false;
  show();
}
// An item of the graph, chosen, leaves the rules it is in.
for (const name of document.querySelectorAll("svg [unicode-bidi]")) {
  const choose = () => {
    const box = document.getElementById("rules-table-filter");
    box.value = name.textContent.replace(/[…\ufffd]/g, ""); // what is cut, or cannot be drawn
    box.dispatchEvent(new Event("input"));
    box.scrollIntoView({ block: "center" });
  };
  name.closest("svg").setAttribute("role", "group"); // an image has nothing in it to choose
  name.setAttribute("role", "button");
  name.setAttribute("tabindex", "0");
  name.addEventListener("click", choose);
  name.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  });
}
