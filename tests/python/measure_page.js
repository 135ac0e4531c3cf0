// What test_pages.py measures in a page. `texts()`, `bars()` and the rest return what is wrong, in words.
// Runs before the page's own scripts, so that labels drawn on a canvas can be measured as well.
const measure = (() => {
  const LEAST_CONTRAST = 4.5, LEAST_TEXT_PX = 10;

  // --- Labels on canvases: kept from the moment that the canvas was last cleared by a new size. ---

  const drawn = new WeakMap();
  const width = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
  Object.defineProperty(HTMLCanvasElement.prototype, "width", {
    ...width,
    set(value) {
      drawn.set(this, []);
      width.set.call(this, value);
    },
  });
  // Pixels under labels are read: Chromium would complain of that if it had not been told.
  const getContext = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind) { return getContext.call(this, kind, { willReadFrequently: true }); };
  const fillText = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    if (text.trim() !== "" && this.canvas.isConnected) {
      const size = this.measureText(text), scale = this.getTransform().a;
      const box = { left: x - size.actualBoundingBoxLeft, right: x + size.actualBoundingBoxRight,
        top: y - size.actualBoundingBoxAscent, bottom: y + size.actualBoundingBoxDescent };
      const grounds = [box.left + 1, (box.left + box.right) / 2, box.right - 1].map((at) =>
        [...this.getImageData(Math.round(at * scale), Math.round(y * scale), 1, 1).data].slice(0, 3));
      drawn.get(this.canvas)?.push({ text, box, ink: rgba(this.fillStyle).slice(0, 3), grounds, px: Number.parseFloat(this.font.match(/[\d.]+px/)[0]) });
    }
    fillText.call(this, text, x, y);
  };

  // --- Colours. ---

  const known = new Map();
  const sample = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  function rgba(colour) {
    if (!known.has(colour)) {
      sample.clearRect(0, 0, 1, 1);
      sample.fillStyle = colour;
      sample.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = sample.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  }
  const over = ([r, g, b, a], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
  function luminance(colour) {
    const [r, g, b] = colour.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function contrast(a, b) {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  }

  /** What is painted under the middle of a text, from the page up. */
  function groundOf(node, box) {
    const stack = document.elementsFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    const paints = [];
    for (const element of stack) {
      if (element === node || node.contains(element)) continue;
      const style = getComputedStyle(element);
      const shape = element instanceof SVGGeometryElement && !["line", "polyline"].includes(element.tagName);
      const paint = shape ? style.fill : element instanceof SVGElement ? "none" : style.backgroundColor;
      if (paint === "none") continue;
      const [r, g, b, a] = rgba(paint);
      paints.push([r, g, b, a * Number(style.opacity) * (shape ? Number(style.fillOpacity) : 1)]);
    }
    const own = node instanceof SVGElement ? [] : [rgba(getComputedStyle(node).backgroundColor)];
    return [...own, ...paints].reverse().reduce((under, paint) => over(paint, under), [255, 255, 255]);
  }

  // --- Texts. ---

  const SILENT = "script, style, noscript, option, title, desc, #tip";

  /** The part of a box that its ancestors let through, whether one of them cuts it off, and one lets it be scrolled to. */
  function seen(node, box) {
    let { left, right, top, bottom } = box, cut = false, scrolls = false;
    for (let up = node.parentElement; up; up = up.parentElement) {
      const style = getComputedStyle(up), clips = style.overflowX !== "visible" || (up.tagName === "svg" && style.overflow !== "visible");
      if (!clips || up === document.documentElement || up === document.body) continue;
      const edge = up.getBoundingClientRect();
      const inside = left >= edge.left - 1 && right <= edge.right + 1 && top >= edge.top - 1 && bottom <= edge.bottom + 1;
      if (["auto", "scroll"].includes(style.overflowX)) scrolls = true; else cut ||= !inside && !scrolls;
      [left, right, top, bottom] = [Math.max(left, edge.left), Math.min(right, edge.right), Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
    }
    return { left, right, top, bottom, cut, scrolls };
  }

  function textBoxes() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), boxes = [];
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      const node = text.parentElement;
      if (text.data.trim() === "" || node.closest(SILENT) || !node.checkVisibility()) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      for (const box of range.getClientRects()) if (box.width > 0) boxes.push({ node, text: text.data.trim(), box, ...seen(node, box) });
    }
    return boxes;
  }

  const crossing = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;

  /** Pairs that cross, of boxes sorted by their tops. */
  function crossings(boxes) {
    const wrong = [], sorted = [...boxes].sort((a, b) => a.top - b.top);
    sorted.forEach((a, i) => {
      for (let j = i + 1; j < sorted.length && sorted[j].top < a.bottom; j++) {
        if (crossing(a, sorted[j])) wrong.push(`"${a.text}" and "${sorted[j].text}" overlap`);
      }
    });
    return wrong;
  }

  /** Pixels of the font as it is seen: a drawing may be scaled. */
  function pixelsOf(node) {
    const scale = node instanceof SVGGraphicsElement ? Math.abs(node.getScreenCTM().d) : 1;
    return Number.parseFloat(getComputedStyle(node).fontSize) * scale;
  }

  function texts() {
    const wrong = [], boxes = textBoxes();
    for (const { node, text, box, right, left, top, bottom, cut, scrolls } of boxes) {
      const told = `"${text.slice(0, 60)}" in ${node.tagName.toLowerCase()}.${node.getAttribute("class") || ""}`;
      if (cut) wrong.push(`${told} is clipped`);
      if (!scrolls && (box.right > innerWidth + 0.5 || box.left < -0.5)) wrong.push(`${told} leaves the window`);
      if (pixelsOf(node) < LEAST_TEXT_PX) wrong.push(`${told} is ${pixelsOf(node).toFixed(1)} px`);
      if (right - left < 1 || bottom - top < 1) continue;
      const style = getComputedStyle(node), ground = groundOf(node, { left, right, top, bottom });
      const ink = over(rgba(node instanceof SVGElement ? style.fill : style.color), ground), found = contrast(ink, ground);
      if (found < LEAST_CONTRAST) wrong.push(`${told} has a contrast of ${found.toFixed(2)}`);
    }
    return wrong.concat(crossings(boxes.filter((b) => b.right - b.left > 1)), canvasTexts());
  }

  function canvasTexts() {
    const wrong = [];
    for (const canvas of document.querySelectorAll("canvas")) {
      const labels = drawn.get(canvas) || [];
      for (const { text, box, px, ink, grounds } of labels) {
        if (box.left < -1 || box.right > canvas.clientWidth + 1 || box.top < -1 || box.bottom > canvas.clientHeight + 1) wrong.push(`"${text}" is clipped by its canvas`);
        if (px < LEAST_TEXT_PX) wrong.push(`"${text}" on a canvas is ${px} px`);
        const least = Math.min(...grounds.map((ground) => contrast(ink, ground)));
        if (least < LEAST_CONTRAST) wrong.push(`"${text}" on a canvas has a contrast of ${least.toFixed(2)}`);
      }
      wrong.push(...crossings(labels.map(({ text, box }) => ({ text, ...box }))));
    }
    return wrong;
  }

  // --- Bars: parts sum to the total, and are as wide as they say. ---

  function bars() {
    const wrong = [];
    for (const bar of document.querySelectorAll(".bar")) {
      const total = Number(bar.dataset.total), scale = Number(bar.dataset.scale), parts = [...bar.querySelectorAll("[data-value]")];
      const sum = parts.reduce((all, part) => all + Number(part.dataset.value), 0), track = bar.clientWidth;
      const told = `a bar in "${bar.closest("section")?.querySelector("h2")?.textContent}"`;
      if (!(Math.abs(sum - total) <= 0.002 * total)) wrong.push(`${told}: parts are ${sum}, the total is ${total}`);
      if (total > scale * 1.001) wrong.push(`${told}: ${total} is more than the whole width, ${scale}`);
      const painted = parts.reduce((all, part) => all + part.getBoundingClientRect().width, 0);
      if (bar.checkVisibility() && Math.abs(painted - (track * total) / scale) > 1.5) wrong.push(`${told}: ${painted} of ${track} px painted for ${total / scale}`);
    }
    return wrong;
  }

  /** Boxes that make the page scroll sideways. */
  function overflow() {
    const root = document.documentElement;
    if (root.scrollWidth <= innerWidth) return [];
    const widest = [...document.body.querySelectorAll("*")].filter((node) => node.getBoundingClientRect().right > innerWidth + 0.5 && !node.closest(".scroll"));
    return [`the page is ${root.scrollWidth} px wide: ${widest.slice(0, 3).map((node) => `${node.tagName.toLowerCase()}.${node.getAttribute("class") || ""}`).join(", ")}`];
  }

  // --- Controls. ---

  const CONTROLS = "button, select, input, a[href], summary, [tabindex]";
  const nameOf = (node) => node.getAttribute("aria-label") || node.textContent.trim() || node.getAttribute("placeholder") || "";
  const controls = () => [...document.querySelectorAll(CONTROLS)].filter((node) => node.checkVisibility());

  let reached = new Set();
  return {
    overflow, texts, bars,
    unnamed: () => controls().filter((node) => nameOf(node) === "" && !node.classList.contains("scroll")).map((node) => node.outerHTML.slice(0, 80)),
    startWalk() {
      reached = new Set();
      document.activeElement?.blur();
      return controls().length;
    },
    /** Notes where the focus is; what is wrong with how it shows. */
    step() {
      const node = document.activeElement;
      if (node === document.body || reached.has(node)) return { done: node === document.body, wrong: [] };
      reached.add(node);
      return { done: false, wrong: getComputedStyle(node).outlineStyle === "none" ? [`nothing shows the focus on ${node.outerHTML.slice(0, 80)}`] : [] };
    },
    unreached: () => controls().filter((node) => !reached.has(node)).map((node) => `${node.outerHTML.slice(0, 80)} cannot be reached`),
  };
})();
