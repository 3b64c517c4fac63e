import { expect, test } from "vitest";
import { conversions as delta } from "../../plugins/delta/conversions.ts";
import { conversions as gamma } from "../../plugins/gamma/conversions.ts";
import { conversions as wiki } from "../../plugins/wiki/conversions.ts";
import { textOfMarkup } from "../../sdk/index.ts";

/** For each format, a text with everything that its converter supports. */
const html = `<h1 class="a">One</h1><p>a <strong>b <em>c</em></strong> <code>d</code> <a href="https://a.example/?x=1&amp;y=2" title='t'>e</a><br/>f &lt; &#39; &#x1F600; &nope;</p><ul data-type="taskList"><li data-checked="true"><p>g</p><ol start="3"><li>h</li></ol></li></ul><pre><code class="language-ts">i &lt;j&gt;</code></pre><blockquote><p>k</p></blockquote><table><tbody><tr><th>l</th></tr><tr><td><p>m|n</p></td></tr></tbody></table><hr><img src="x.png" alt="o"><!-- p --><mention-component id="q" entity_name="user_mention"></mention-component>`;
const storage = `${html}<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">sh</ac:parameter><ac:plain-text-body><![CDATA[a <b>]]></ac:plain-text-body></ac:structured-macro><p><ac:link><ri:page ri:content-title="Run &quot;book&quot;" /><ac:plain-text-link-body><![CDATA[x]]></ac:plain-text-link-body></ac:link><ac:emoticon ac:name="tick" /></p><ac:task-list><ac:task><ac:task-id>7</ac:task-id><ac:task-status>complete</ac:task-status><ac:task-body>do</ac:task-body></ac:task></ac:task-list><?pi x?><!DOCTYPE y>`;
const markup = `h1. One\n\n* a\n** b *c* _d_ -e- +f+ ??g??\n# {{h}} [i|https://a.example|tip] [~ann] [^file.txt] !j.png|width=1!\n\n{code:title=x|language=java}\nk {l}\n{code}\n{noformat}m{noformat}\n{quote}n{quote}\n{panel:title=o|borderStyle=dashed}p{panel}\n||q||r||\n|s|t\\|u|\n----\nbq. v\n{color:red}w{color} \\\\ \\* &lt; :) (/)\n`;
const markdown = `# One\n\n- a **b *c*** ~~d~~ \`e\` [f](https://a.example "t") <https://b.example>\n  1. g\n- [x] h\n\n> i\n>\n> - j\n\n\`\`\`ts\nk <l>\n\`\`\`\n\n| m | n |\n| - | :-: |\n| o \\| p | q |\n\n---\n\n![r](s.png) @ann &lt; \\* <b>t</b> <!-- u -->\n\n[v]: https://c.example\n\n[v]\n`;

test.each<[string, string, (text: string) => unknown]>([
  ["HTML", html, delta.htmlToMarkdown],
  ["a wiki page", storage, wiki.storageToMarkdown],
  ["wiki markup", markup, gamma.wikiToMarkdown],
  ["Markdown to wiki markup", markdown, gamma.markdownToWiki],
  ["Markdown to documents", markdown, gamma.markdownToAdf],
  ["Markdown to HTML", markdown, delta.markdownToHtml],
  ["markup as plain text", storage, textOfMarkup],
])("%s is converted wherever it is cut off, at its start or its end", (_, text, convert) => {
  for (let at = 0; at <= text.length; at++)
    for (const part of [text.slice(0, at), text.slice(at)]) {
      const converted = (() => {
        try {
          return convert(part);
        } catch (error) {
          return error;
        }
      })();
      expect(converted, part).not.toBeInstanceOf(Error);
    }
});
