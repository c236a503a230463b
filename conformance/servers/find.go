package servers

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Kind is a server program.
type Kind int

// The server programs.
const (
	Redis Kind = iota
	Valkey
)

// Kinds lists all server programs, found or not.
func Kinds() []Kind { return []Kind{Redis, Valkey} }

// String returns the program's name as subtests spell it: Redis or Valkey.
func (k Kind) String() string {
	if k == Valkey {
		return "Valkey"
	}
	return "Redis"
}

// Binary returns the name of the program's binary: redis-server or valkey-server.
func (k Kind) Binary() string { return strings.ToLower(k.String()) + "-server" }

func (k Kind) variable() string { return "HASP_" + strings.ToUpper(k.String()) + "_SERVER" }

type finding struct {
	path, version string
	ok            bool
}

// findings holds what is known of each Kind, looked up once per process.
var findings = [...]func() finding{
	Redis:  sync.OnceValue(func() finding { return find(Redis) }),
	Valkey: sync.OnceValue(func() finding { return find(Valkey) }),
}

// Find returns the path of kind's binary and its version, such as 8.0.1; ok is false if there is
// none. It looks once per process.
func Find(kind Kind) (path, version string, ok bool) {
	found := findings[kind]()
	return found.path, found.version, found.ok
}

func find(kind Kind) finding {
	name := os.Getenv(kind.variable())
	if name == "" {
		name = kind.Binary()
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return finding{}
	}
	out, err := exec.Command(path, "--version").Output()
	match := versionText.FindSubmatch(out)
	if err != nil || match == nil {
		return finding{}
	}
	return finding{path: path, version: string(match[1]), ok: true}
}

var versionText = regexp.MustCompile(`\bv=([0-9.]+)`)

// major returns the first number of a version.
func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(first)
	return n
}

// TB is the part of testing.TB that this package needs.
type TB interface {
	Helper()
	Name() string
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Need skips the test if kind's binary is missing, or fails it if HASP_REQUIRE_SERVERS is 1.
func Need(tb TB, kind Kind) {
	tb.Helper()
	need(tb, kind, os.Getenv("HASP_REQUIRE_SERVERS") == "1")
}

func need(tb TB, kind Kind, required bool) {
	tb.Helper()
	if _, _, ok := Find(kind); ok {
		return
	}
	text := fmt.Sprintf("no %s on PATH, nor in %s: run conformance/servers/install.sh",
		kind.Binary(), kind.variable())
	if required {
		tb.Fatalf("%s", text)
	}
	tb.Skipf("%s", text)
}
