import { useEffect, useRef, useState } from "preact/hooks";
import { Block, plain } from "./text.tsx";

/** A longer text is shown unconverted, because conversion and sanitizing would block the page. */
const maxLength = 20_000;

/** Markdown from outside or from a model: converted, sanitized, without images, and with the addresses of links shown. */
export function Markdown({ text, label = "Text" }: { text: string; label?: string }) {
  const place = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const short = text.length <= maxLength;
  useEffect(() => {
    if (!short) return;
    let current = true;
    // Markdown that is nested a thousand times cannot be converted: then its source is shown, as if the module did not load.
    import("./sanitize.ts")
      .then(({ fragmentOf }) => current && place.current?.replaceChildren(fragmentOf(plain(text))))
      .catch(() => current && setFailed(true));
    return () => {
      current = false;
    };
  }, [text, short]);
  if (!short || failed) return <Block text={text} label={label} />;
  return <div class="markdown" ref={place} dir="auto" />;
}
