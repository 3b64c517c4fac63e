/** Elements whose content no page shows. */
const hiddenElements = new Set(
  "script style template noscript iframe object applet svg math head title datalist noembed noframes rp".split(" "),
);
/** Styles, without spaces, that hide an element. */
const unseenStyle =
  /(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:0?\.?0*(?![.\d])|font(?:-size)?:0(?!\.[3-9]\d*(?:r?em|in|cm))|(?:max-)?(?:height|width):0(?![.\d]*[1-9])|text-indent:-\d{3}|(?:left|top|right|bottom):-\d{3}|clip:rect\(0|clip-path:inset\((?:50|100)%|clip-path:(?:circle|ellipse)\(0|(?:transform:)?scale(?:3d|x|y)?[:(]0(?![.\d]*[1-9])|margin(?:-left|-top)?:-\d{3}|(?:transform:)?translate(?:3d|x|y)?[:(]-?\d{3}|content-visibility:hidden)/;
/** A colour, without spaces, that cannot be seen on a white page: white, of the lightness 100%, or with the opacity 0. */
const unseenColour =
  /^(?:transparent|white|#fff(?:[0-9a-f]|fff(?:[0-9a-f]{2})?)?(?![0-9a-f])|#(?:[0-9a-f]{3}|[0-9a-f]{6}0)0(?![0-9a-f])|rgba?\(255,?255,?255|(?:rgb|hsl)a?\((?:[^()/]*\/|(?:[^(),/]+,){3})(?:0+(?:\.0*)?|\.0+)%?\)|hsla?\((?:[^(),/]*(?:100%|%100)|[^(),/]*,[^(),/]*,100%)(?:[,/][^()]*)?\))/;
const colours = /(?:^|;)(?:-webkit-text-fill-)?color:([^;]*)/g;

type Attribute = readonly [name: string, value: string];

/** Whether text of this colour cannot be seen on a white page: `white`, `#fff`. */
export const isUnseenColour = (colour: string): boolean => unseenColour.test(colour.toLowerCase().replace(/\s/g, ""));

/**
 * Whether readers do not see an HTML element: by its name, the attribute `hidden` or its style. So its text must not reach a model.
 * `onColour`: the element has a background, on which white text can be seen. Names of elements and attributes are in lower case.
 */
export function isHiddenElement(name: string, attributes: Iterable<Attribute>, { onColour = false } = {}): boolean {
  if (hiddenElements.has(name)) return true;
  for (const [attribute, value] of attributes) {
    if (attribute === "hidden") return true;
    if (attribute === "type" && name === "input" && value.toLowerCase() === "hidden") return true;
    if (attribute === "color" && name === "font" && !onColour && isUnseenColour(value)) return true;
    if (attribute === "style" && hides(value, onColour)) return true;
  }
  return false;
}

function hides(style: string, onColour: boolean): boolean {
  const plain = style.toLowerCase().replace(/\/\*[\s\S]{0,200}?\*\/|\s|\\/g, "");
  if (unseenStyle.test(plain)) return true;
  // Which of several colours a page shows depends on which are valid, so one that cannot be seen is enough.
  return !onColour && [...plain.matchAll(colours)].some(([, colour = ""]) => unseenColour.test(colour));
}
