"use strict";
(() => {
  const form = document.getElementById("filter");
  const status = document.getElementById("shown");
  const items = [...document.querySelectorAll("[data-kind]")];
  const kinds = new Map();
  for (const item of items) kinds.set(item.dataset.kind, (kinds.get(item.dataset.kind) || 0) + 1);
  if (kinds.size < 2) return;
  const box = form.querySelector("fieldset");
  for (const [kind, count] of kinds) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "checkbox";
    input.checked = true;
    input.value = kind;
    label.append(input, ` ${kind} (${count})`);
    box.append(label);
  }
  form.addEventListener("change", () => {
    const on = new Set([...form.querySelectorAll("input:checked")].map((input) => input.value));
    let shown = 0;
    for (const item of items) {
      item.hidden = !on.has(item.dataset.kind);
      if (!item.hidden) shown += 1;
    }
    status.textContent = `${shown} of ${items.length} shown`;
  });
  form.hidden = false;
})();
