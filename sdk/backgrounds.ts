const namedColours: Readonly<Record<string, string>> = {
  black: "000000",
  gray: "808080",
  grey: "808080",
  silver: "c0c0c0",
  maroon: "800000",
  red: "ff0000",
  purple: "800080",
  green: "008000",
  olive: "808000",
  navy: "000080",
  blue: "0000ff",
  darkblue: "00008b",
  teal: "008080",
  orange: "ffa500",
  brown: "a52a2a",
};
/** White text can hardly be seen on a background that is lighter than this, of 255. */
const lightest = 200;
/** A longer background is not read, because that may take time that grows with the square of its length. */
const maxLength = 200;
/** A background with a lower opacity shows what is behind it. */
const lowestOpacity = 0.5;

/** The backgrounds of a `style`. One that cannot be read for certain is returned whole. */
export function backgroundsOf(style: string): readonly string[] {
  if (!/background/i.test(style)) return [];
  const plain = style.replace(/\/\*[\s\S]*?(?:\*\/|$)|"[^"]*(?:"|$)|'[^']*(?:'|$)/g, "");
  if (/\\|url\(/i.test(plain)) return [style];
  return plain.split(";").flatMap((part) => {
    const [, colour] = /^\s*background(?:-color)?\s*:(.*)$/is.exec(part) ?? [];
    return colour === undefined ? [] : [colour];
  });
}

/**
 * Whether white text can be seen on an element with these backgrounds; `undefined` if they show what is behind the element.
 * Which of several a page shows depends on which are valid, so all must be dark. One that is not understood is not.
 */
export function showsWhiteText(backgrounds: readonly string[]): boolean | undefined {
  const shown = backgrounds.map(showsWhite);
  return shown.every((one) => one === undefined) ? undefined : shown.every((one) => one === true);
}

function showsWhite(background: string): boolean | undefined {
  if (background.length > maxLength) return false;
  const plain = background
    .toLowerCase()
    .trim()
    .replace(/\s*!important$/, "")
    .replace(/(?: (?:none|repeat|scroll|0(?:%|px)?))+$/, "");
  if (/^(?:none|transparent|inherit|initial|unset)?$/.test(plain)) return undefined;
  const [red, green, blue, opacity = 1] = channels(plain);
  if (red === undefined || green === undefined || blue === undefined) return false;
  if (opacity < lowestOpacity) return undefined;
  return 0.299 * red + 0.587 * green + 0.114 * blue < lightest;
}

/** Red, green and blue, up to 255, then the opacity if there is one; empty if the colour is not understood. */
function channels(colour: string): readonly number[] {
  const hex = Object.hasOwn(namedColours, colour) ? namedColours[colour] : /^#([0-9a-f]{3,8})$/.exec(colour)?.[1];
  if (hex !== undefined) {
    const long = hex.length < 5 ? hex.replace(/./g, "$&$&") : hex;
    if (long.length % 2 === 1) return [];
    const values = (long.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
    return values.map((value, index) => (index === 3 ? value / 255 : value));
  }
  const found = /^rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,\s*(\d?\.?\d{1,9})\s*)?\)$/.exec(colour);
  return found ? found.slice(1).flatMap((value) => (value === undefined ? [] : [Number(value)])) : [];
}
