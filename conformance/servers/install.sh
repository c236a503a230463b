#!/bin/sh
# Installs redis-server and valkey-server for the tests, whichever is missing, on Debian and its
# relatives: from the release, or from its backports suite where the release lacks it. The mirror
# and its signing key are those of the machine's own apt sources, which stay as they are. Anywhere
# else, or without the permission to install, it says what to install and exits with 1.
#
# HASP_REDIS_SERVER and HASP_VALKEY_SERVER name binaries outside PATH, here and in the tests.
#
# "install.sh [-b] package..." installs these packages instead, in the same way; -b takes all of
# them from the backports suite.
set -eu

missing() {
	command -v "${HASP_REDIS_SERVER:-redis-server}" >/dev/null || echo redis-server
	command -v "${HASP_VALKEY_SERVER:-valkey-server}" >/dev/null || echo valkey-server
}

give_up() {
	echo "install.sh: $1" >&2
	[ -n "$servers" ] || echo "Please install: $wanted" >&2
	[ -z "$servers" ] || cat >&2 <<TEXT
The tests start servers of their own. Missing on PATH: $wanted
  redis-server   7.0 or newer: https://redis.io/docs/latest/operate/oss_and_stack/install/
  valkey-server  8.0 or newer: https://valkey.io/topics/installation/
  Debian, as root: apt-get install redis-server; apt-get install -t <release>-backports valkey-server
  macOS: brew install redis valkey
Binaries elsewhere: set HASP_REDIS_SERVER and HASP_VALKEY_SERVER to their paths.
TEXT
	exit 1
}

# own_sources prints, as deb822 stanzas, those of the machine's apt sources that hold the release
# named $1, in either of apt's two formats, with the suites in $2 added.
own_sources() {
	{
		for file in /etc/apt/sources.list.d/*.sources; do
			# A blank line after each file keeps the stanzas of two files apart.
			[ ! -r "$file" ] || { grep -v '^#' "$file" || true; echo; }
		done
		for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
			[ ! -r "$file" ] || one_line_sources "$file"
		done
	} | awk -v release="$1" -v add="$2" '
		BEGIN { RS = ""; FS = "\n" }
		{
			wanted = 0; text = ""
			for (i = 1; i <= NF; i++) {
				n = split($i, word, /[ \t]+/)
				key = tolower(word[1])
				if (key == "enabled:" && tolower(word[2]) == "no") next
				if (key == "types:" && $i !~ /deb([ \t]|$)/) next
				if (key == "types:") $i = "Types: deb"
				if (key == "suites:") {
					more = add
					for (j = 2; j <= n; j++) {
						if (word[j] == release) wanted = 1
						if (word[j] == add) more = ""
					}
					$i = $i " " more
				}
				text = text $i "\n"
			}
			if (wanted) print text
		}'
}

# one_line_sources prints the "deb [options] uri suite component..." lines of file $1 as stanzas.
one_line_sources() {
	sed -n 's/#.*//; s/^[ \t]*deb[ \t]\{1,\}/deb /p' "$1" | awk '
		{
			options = ""
			if (match($0, /\[[^]]*\]/)) {
				options = substr($0, RSTART + 1, RLENGTH - 2)
				$0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
			}
			print "Types: deb\nURIs: " $2 "\nSuites: " $3
			components = ""
			for (i = 4; i <= NF; i++) components = components " " $i
			print "Components:" components
			n = split(options, option, " ")
			for (i = 1; i <= n; i++) {
				at = index(option[i], "=")
				name = substr(option[i], 1, at - 1)
				if (name == "arch") name = "architectures"
				gsub(/,/, " ", option[i])
				print name ": " substr(option[i], at + 1)
			}
			print ""
		}'
}

# with_sources runs an apt command on the temporary sources alone, with package lists of their own:
# an update on the machine's lists would drop those of its other sources.
with_sources() {
	command=$1
	shift
	"$command" -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$temp/sources" \
		-o Dir::State::lists="$temp/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o Acquire::Retries=3 -o APT::Update::Error-Mode=any "$@"
}

update() {
	own_sources "$1" "$2" >"$temp/sources/hasp.sources"
	[ -s "$temp/sources/hasp.sources" ] || give_up "no apt source holds $1"
	with_sources apt-get update
}

# keep_stopped makes the packages' scripts start no service until clean_up.
keep_stopped() {
	[ -e /usr/sbin/policy-rc.d ] && return
	policy=/usr/sbin/policy-rc.d
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
}

clean_up() {
	[ -z "$policy" ] || rm -f "$policy"
	rm -rf "$temp"
}

install_packages() {
	release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	[ -n "$release" ] || give_up "/etc/os-release names no release"
	policy=
	temp=$(mktemp -d)
	trap clean_up EXIT
	trap 'exit 1' HUP INT TERM
	chmod 755 "$temp" # apt downloads as a user of its own
	mkdir -p "$temp/sources" "$temp/lists/partial"
	update "$release" "$release-backports" || update "$release" "" || give_up "apt-get update failed"
	keep_stopped
	[ -z "$backports" ] || set -- -t "$release-backports" "$@"
	DEBIAN_FRONTEND=noninteractive with_sources apt-get install -y --no-install-recommends "$@" ||
		give_up "apt-get install failed"
	for name in $servers; do
		# The tests need no service at the next boot either.
		! command -v systemctl >/dev/null || systemctl disable "$name" >/dev/null 2>&1 || true
	done
}

arguments=$*
backports=
if [ "${1:-}" = -b ]; then
	backports=yes
	shift
fi
servers=
wanted=$*
if [ -z "$wanted" ]; then
	servers=$(missing)
	wanted=$(echo $servers) # on one line
fi
[ -n "$wanted" ] || exit 0
command -v apt-get >/dev/null || give_up "this machine has no apt-get"
if [ "$(id -u)" != 0 ]; then
	sudo -n true 2>/dev/null || give_up "installing needs root, or sudo without a password"
	# shellcheck disable=SC2086 # One word per argument, here and below.
	exec sudo -n env http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
		HASP_REDIS_SERVER="${HASP_REDIS_SERVER:-}" HASP_VALKEY_SERVER="${HASP_VALKEY_SERVER:-}" \
		"$0" $arguments
fi
# shellcheck disable=SC2086
install_packages $wanted
[ -z "$servers" ] || [ -z "$(missing)" ] || give_up "installed, but still not on PATH"
