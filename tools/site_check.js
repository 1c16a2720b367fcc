// Runs in the page that tools/site_check.py serves: opens each page of the site in a frame of a given width and looks at
// it as a reader would. What it finds is written into the element #found, one JSON object for a fault.
const LEAST_CONTRAST = 4.5; // of small text, as the Web Content Accessibility Guidelines (level AA) ask

function luminance([r, g, b]) {
  const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}

const CANVAS = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

// Any notation of a colour, painted over another, as red, green and blue.
function blend(colour, below) {
  CANVAS.fillStyle = `rgb(${below.join(",")})`;
  CANVAS.fillRect(0, 0, 1, 1);
  CANVAS.fillStyle = colour;
  CANVAS.fillRect(0, 0, 1, 1);
  return [...CANVAS.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

function backgroundOf(element, view) {
  const above = [];
  for (let one = element; one; one = one.parentElement) above.push(view.getComputedStyle(one).backgroundColor);
  return above.reverse().reduce((below, colour) => blend(colour, below), [255, 255, 255]);
}

function* textsOf(root) {
  const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() && !parent.closest("script, style, math, svg, .headerlink, kbd, [aria-hidden]")) yield walker.currentNode;
  }
}

function look(frame) {
  const faults = [];
  const [page, view] = [frame.contentDocument, frame.contentWindow];
  const body = page.querySelector("article") || page.body;
  const excess = page.documentElement.scrollWidth - page.documentElement.clientWidth;
  if (excess > 1) faults.push(["wider than the window", `${excess} pixels`]);
  for (const image of body.querySelectorAll("img"))
    if (!image.naturalWidth) faults.push(["a picture is missing", image.getAttribute("src")]);
  const seen = new Set();
  for (const text of textsOf(body)) {
    const parent = text.parentElement;
    if (!parent.closest("pre, code") && /\\(frac|sum|lVert|alpha|mathbb)|\$\$/.test(text.data))
      faults.push(["raw TeX", text.data.trim().slice(0, 60)]);
    if (!parent.getClientRects().length) continue;
    const style = view.getComputedStyle(parent);
    const below = backgroundOf(parent, view);
    const key = `${style.color} ${below}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const [low, high] = [luminance(blend(style.color, below)), luminance(below)].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < (parseFloat(style.fontSize) >= 24 ? 3 : LEAST_CONTRAST))
      faults.push(["hard to read", `${contrast.toFixed(1)}: ${text.data.trim().slice(0, 40)}`]);
  }
  for (const link of body.querySelectorAll("a[href]")) {
    const target = new URL(link.href, page.baseURI);
    if (target.host === location.host) LINKS.set(target.pathname, frame.dataset.page);
  }
  return faults;
}

const LINKS = new Map();

async function open(frame, page) {
  frame.dataset.page = page;
  await new Promise((done) => {
    frame.onload = done;
    frame.src = `/${page}`;
  });
}

async function main({ pages, widths, themes }) {
  const found = [];
  for (const width of widths)
    for (const theme of themes) {
      localStorage.setItem("mode", theme);
      localStorage.setItem("theme", theme);
      const frame = document.createElement("iframe");
      frame.style = `border:0;width:${width}px;height:900px`;
      document.body.append(frame);
      for (const page of pages) {
        await open(frame, page);
        frame.contentDocument.documentElement.dataset.theme = theme;
        for (const [fault, what] of look(frame)) found.push({ page, width, theme, fault, what });
      }
      frame.remove();
    }
  for (const [path, page] of LINKS) {
    const answer = await fetch(path, { method: "HEAD" });
    if (!answer.ok) found.push({ page, fault: "a link leads nowhere", what: path });
  }
  return found;
}

fetch("/site_check.json")
  .then((answer) => answer.json())
  .then(main)
  .then((found) => fetch("/found", { method: "POST", body: JSON.stringify(found) }))
  .catch((error) => fetch("/found", { method: "POST", body: JSON.stringify([{ fault: "the check broke", what: String(error) }]) }));
