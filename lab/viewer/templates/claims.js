// Filters of the claims page: without it, all claims are shown.
const claims = JSON.parse(document.getElementById("claims").textContent);
const boxes = {};
function matches(row) {
  return Object.entries(boxes).every(([field, box]) => !box.value || row[field] === box.value);
}
function show() {
  for (const row of claims)
    for (const part of document.querySelectorAll(`[data-claim="${row.claim}"]`)) part.hidden = !matches(row);
  for (const body of document.querySelectorAll("tbody.kind"))
    body.hidden = [...body.rows].slice(1).every(row => row.hidden);
}
for (const field of ["paper", "claim", "answered", "data"]) {
  const label = document.createElement("label"), box = boxes[field] = document.createElement("select");
  const texts = new Map(claims.map(row => [row[field], field === "claim" ? `${row.says} (${row.claim})` : row[field]]));
  box.add(new Option("all", ""));
  for (const [value, text] of texts) if (value) box.add(new Option(text, value));
  box.addEventListener("change", show);
  label.append({answered: "who answered"}[field] || field, " ", box);
  document.getElementById("controls").append(label);
}
// Each claim whose flipped tasks are listed below links to them alone.
for (const part of document.querySelectorAll("div[data-claim]")) {
  const link = document.createElement("a");
  Object.assign(link, {href: "#" + part.dataset.claim, textContent: "its flipped tasks"});
  link.addEventListener("click", () => setTimeout(follow));
  document.getElementById(part.dataset.claim).cells[0].append(" · ", link);
}
// An address that ends in #CLAIM shows that claim alone.
function follow() {
  const claim = decodeURIComponent(location.hash.slice(1));
  if (claims.some(row => row.claim === claim))
    for (const [field, box] of Object.entries(boxes)) box.value = field === "claim" ? claim : "";
  show();
}
window.addEventListener("hashchange", follow);
follow();
