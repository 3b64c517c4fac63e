/**
 * The shapes of keys that platforms issue, from the rules of gitleaks 8 (config/gitleaks.toml, MIT License). Only rules whose
 * prefix alone identifies a key are included, because a rule without a prefix would remove commit hashes and ids.
 */
const shapes: Readonly<Record<string, string>> = {
  github: "gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255}",
  gitlab: "gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_.-]{20,300}|GR1348941[A-Za-z0-9_-]{20}",
  atlassian: "AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{20,300}",
  plane: "plane_api_[A-Za-z0-9]{20,100}",
  aws: "(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Z0-9])",
  google: "AIza[A-Za-z0-9_-]{35}|ya29\\.[A-Za-z0-9_-]{20,300}|GOCSPX-[A-Za-z0-9_-]{20,60}",
  azure: "AccountKey=[A-Za-z0-9+/]{40,100}={0,2}",
  slack:
    "xox[abeoprs]-[A-Za-z0-9-]{10,300}|xapp-\\d-[A-Za-z0-9-]{10,300}|hooks\\.slack\\.com/(?:services|workflows)/[A-Za-z0-9+/]{20,80}",
  discord: "discord(?:app)?\\.com/api/webhooks/\\d{15,22}/[A-Za-z0-9_-]{30,120}",
  stripe: "(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,200}|whsec_[A-Za-z0-9+/=]{20,100}",
  "a model API": "sk-[A-Za-z0-9_-]{20,300}",
  huggingface: "(?:hf_|api_org_)[A-Za-z0-9]{30,60}",
  npm: "npm_[A-Za-z0-9]{36}",
  pypi: "pypi-AgE[A-Za-z0-9_-]{40,300}",
  sendgrid: "SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{30,64}",
  twilio: "SK[0-9a-f]{32}(?![0-9a-f])",
  telegram: "\\d{8,10}:AA[A-Za-z0-9_-]{33}",
  shopify: "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
  digitalocean: "do[opr]_v1_[a-f0-9]{64}",
  databricks: "dapi[a-f0-9]{32}",
  vault: "hv[sbr]\\.[A-Za-z0-9_-]{24,300}",
  doppler: "dp\\.(?:pt|st|ct|sa)\\.[A-Za-z0-9]{40,50}",
  linear: "lin_(?:api|oauth)_[A-Za-z0-9]{30,80}",
  notion: "ntn_[A-Za-z0-9]{40,60}",
  figma: "figd_[A-Za-z0-9_-]{30,60}",
  grafana: "gl(?:c|sa)_[A-Za-z0-9+/=_]{32,400}",
  age: "AGE-SECRET-KEY-1[A-Z0-9]{58}",
  jwt: "eyJ[A-Za-z0-9_-]{10,2000}\\.eyJ[A-Za-z0-9_-]{10,4000}\\.[A-Za-z0-9_-]{10,1000}",
  "password in a URL": "(?<=[a-z][a-z0-9+.-]{1,20}://[^\\s/:@]{0,100}:)[^\\s/:@]{3,200}(?=@[A-Za-z0-9])",
  "private key": `-----${"BEGIN"} [A-Z ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----[A-Za-z0-9+/=\\s\\\\:,.-]{0,4000}`,
};

const anyShape = new RegExp(`(?<![A-Za-z0-9])(?:${Object.values(shapes).join("|")})`, "g");
const shapePatterns = Object.entries(shapes).map(([name, shape]) => [name, new RegExp(`^(?:${shape})`)] as const);

interface FoundKey {
  readonly from: number;
  readonly to: number;
  /** The platform whose keys have this shape. */
  readonly name: string;
}

/** The places of a text that look like keys. */
export const findKeys = (text: string): FoundKey[] =>
  [...text.matchAll(anyShape)].map((match) => {
    const [found] = match;
    const name = shapePatterns.find(([, shape]) => shape.test(found))?.[0] ?? "password in a URL";
    return { from: match.index, to: match.index + found.length, name };
  });
