#!/bin/sh
# Installs the newest release of Portway for this system, after its checksum is verified:
#
#   curl -fsSL RELEASES/latest/download/install.sh | sh
#
# PORTWAY_VERSION=1.2.3 chooses a release, PORTWAY_BIN the folder (default ~/.local/bin), and PORTWAY_RUNTIME=node the
# executable with Node inside. With minisign on PATH the signature of the checksums is verified too.
set -eu

releases=${PORTWAY_RELEASES:-@RELEASES@}
key=${PORTWAY_KEY:-@KEY@}
folder=${PORTWAY_BIN:-$HOME/.local/bin}

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

# The system as the names of release files have it.
find_target() {
  case "$(uname -s) $(uname -m)" in
    'Darwin arm64') echo aarch64-apple-darwin ;;
    'Darwin x86_64') echo x86_64-apple-darwin ;;
    'Linux x86_64') echo x86_64-unknown-linux-gnu ;;
    'Linux aarch64' | 'Linux arm64') echo aarch64-unknown-linux-gnu ;;
    *) fail "no executable is for $(uname -s) $(uname -m); with Node installed, use: npm install --global portway" ;;
  esac
}

download() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsSL --retry 2 -o "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$2" "$1"
  else
    fail 'curl or wget is needed'
  fi || fail "cannot download $1"
}

hash_file() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1"
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 "$1"
  else
    fail 'sha256sum or shasum is needed'
  fi | cut -d ' ' -f 1
}

# All work is in a function, so that a script that arrives in part does not run in part.
main() {
  target=$(find_target)
  if [ "$(uname -s)" = Linux ] && ls /lib/ld-musl-* >/dev/null 2>&1 && ! ls /lib*/ld-linux-* >/dev/null 2>&1; then
    fail 'executables need glibc, and this system has musl; with Node installed, use: npm install --global portway'
  fi
  suffix=
  [ "${PORTWAY_RUNTIME:-deno}" = node ] && suffix=-node
  base=$releases/latest/download
  [ -n "${PORTWAY_VERSION:-}" ] && base=$releases/download/v$PORTWAY_VERSION
  mkdir -p "$folder" || fail "cannot make the folder $folder"
  work=$(mktemp -d "$folder/.portway-install-XXXXXX") || fail "cannot write to $folder"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM

  download "$base/SHA256SUMS" "$work/SHA256SUMS"
  if command -v minisign >/dev/null 2>&1 && [ -n "$key" ]; then
    download "$base/SHA256SUMS.minisig" "$work/SHA256SUMS.minisig"
    minisign -Vqm "$work/SHA256SUMS" -P "$key" >/dev/null || fail 'the signature of the checksums is wrong'
  fi
  line=$(grep -E "^[0-9a-f]{64}  portway-[0-9][^ ]*-$target$suffix\$" "$work/SHA256SUMS" | head -n 1)
  [ -n "$line" ] || fail "the release has no executable for $target"
  name=${line#*  }
  download "$base/$name" "$work/portway"
  [ "$(hash_file "$work/portway")" = "${line%% *}" ] || fail "the checksum of $name is wrong"
  chmod 755 "$work/portway"
  version=$("$work/portway" --version) || fail "$name does not run on this system"
  mv "$work/portway" "$folder/portway"
  echo "Portway $version is $folder/portway"
  case ":$PATH:" in
    *":$folder:"*) ;;
    *) echo "Add $folder to PATH to run it as portway" ;;
  esac
}

main
