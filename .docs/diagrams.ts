import { renderMermaidSVG } from "beautiful-mermaid";

/**
 * A mermaid diagram as an SVG file. It is drawn when the site is built, so that a reader's browser loads nothing for it, and
 * in fonts that every machine has.
 */
export function drawDiagram(source: string): string {
  const svg = renderMermaidSVG(source, { bg: "#ffffff", fg: "#27272a" });
  return svg.replace(/@import url\([^)]*\);/g, "").replaceAll("'Inter', ", "");
}
