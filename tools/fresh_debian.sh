# Sourced by tools/fresh_check and tools/package_check: a fresh Debian 12 made with debootstrap from the mirror, keys and
# proxies that this machine's apt and pip are set up with. Sets `release`, `work` (removed at the end, but for keep=yes).
# Not here: what is done inside.
release=bookworm

# Says why this machine makes no fresh Debian, or nothing.
why_no_debian() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "$0 makes a chroot and needs root"
  elif ! command -v debootstrap >/dev/null; then
    echo "apt-get install debootstrap"
  elif [ -z "$(mirror_of_machine | head -1)" ]; then
    echo "apt's configuration names no mirror of $release"
  fi
}

work=
mounted=()
finish() {
  for point in "${mounted[@]}"; do umount -l "$point" 2>/dev/null || true; done
  [ -n "$work" ] || return 0
  if [ -n "${keep:-}" ]; then echo "kept: $work"; else rm -rf --one-file-system "$work"; fi
}
trap finish EXIT

# The first mirror of the release in apt's own configuration, in either of its two formats.
mirror_of_machine() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -nE "s/^deb +(\[[^]]*\] +)?([^ ]+) +$release( .*)?$/\2/p"
  awk -v release="$release" '
    /^URIs:/ { uri = $2 }
    /^Suites:/ { for (i = 2; i <= NF; i++) if ($i == release && uri) print uri }
    /^$/ { uri = "" }' /etc/apt/sources.list.d/*.sources 2>/dev/null
}

# Sources of the release, keys, proxies and certificates, so that apt and pip inside reach what they reach outside.
copy_client_setup() {
  local target=$1 file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    if [ -f "$file" ] && grep -qE "^(deb |Suites:).*\b$release\b" "$file"; then
      install -D -m 644 "$file" "$target$file"
    elif [ "$file" = /etc/apt/sources.list ]; then
      : > "$target$file"
    fi
  done
  for file in $(grep -lsE '^ *Acquire' /etc/apt/apt.conf /etc/apt/apt.conf.d/* || true); do
    grep -hE '^ *Acquire.*;$' "$file" > "$target/etc/apt/apt.conf.d/90host-$(basename "$file")" || true
  done
  for file in /usr/share/keyrings/debian-*.gpg /etc/pip.conf /usr/local/share/ca-certificates/* /etc/resolv.conf \
              /etc/hosts; do
    if [ -f "$file" ]; then install -D -m 644 "$file" "$target$file"; fi
  done
}

mount_into() {  # mount_into FOLDER ARGUMENTS...: undone at the end
  mkdir -p "$1"
  mount "${@:2}" "$1"
  mounted=("$1" "${mounted[@]}")
}

inside() {  # inside FOLDER COMMAND...: with a clean environment but for proxies
  local target=$1 name
  local -a passed=()
  shift
  for name in http_proxy https_proxy no_proxy; do
    if [ -n "${!name:-}" ]; then passed+=("$name=${!name}"); fi
  done
  chroot "$target" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 CI="${CI:-}" \
    "${passed[@]}" "$@" < /dev/null
}

# $work/base: a Debian of minimal size.
make_debian() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/tilert_fresh.XXXXXX")
  echo "Making a Debian $release ..."
  debootstrap --variant=minbase --include=ca-certificates "$release" "$work/base" "$(mirror_of_machine | head -1)" \
    > "$work/debootstrap.log" 2>&1 || { tail -20 "$work/debootstrap.log"; return 1; }
  copy_client_setup "$work/base"
  if compgen -G "$work/base/usr/local/share/ca-certificates/*" >/dev/null; then
    inside "$work/base" update-ca-certificates
  fi
}

# What programs expect of a running system.
mount_system() {
  mount_into "$1/proc" -t proc proc
  mount_into "$1/dev" --bind /dev
  mount_into "$1/dev/shm" -t tmpfs tmpfs
}
