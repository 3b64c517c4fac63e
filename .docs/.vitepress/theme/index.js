// The theme without its fonts: those of the reader's machine are there at once.
import theme from "vitepress/theme-without-fonts";
import "./style.css";

export default theme;
