package servers

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// process is a running server process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startProcess starts a process in folder dir whose output goes to log, and which the kernel kills
// when this process ends, where the kernel can.
//
// Linux ties that to the thread that started the child, not to the process: the child would be killed when the runtime
// ends that thread. So one goroutine starts it, waits for it, and keeps its thread meanwhile.
func startProcess(dir string, log *os.File, path string, args ...string) (*process, error) {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.SysProcAttr = dieWithParent()
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process at once, also a stopped one, and waits until it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Kind is a server program.
type Kind int

// The server programs. Redis and Valkey are required where HASP_REQUIRE_SERVERS is 1; the others are
// tested when they are found.
const (
	Redis Kind = iota
	Valkey
	Redict
	Redis8  // a binary redis-server-8: any version besides that of redis-server
	Valkey9 // a binary valkey-server-9, likewise
)

var programs = [...]struct {
	name, binary string
	optional     bool
}{
	Redis:   {name: "Redis", binary: "redis-server"},
	Valkey:  {name: "Valkey", binary: "valkey-server"},
	Redict:  {name: "Redict", binary: "redict-server", optional: true},
	Redis8:  {name: "Redis8", binary: "redis-server-8", optional: true},
	Valkey9: {name: "Valkey9", binary: "valkey-server-9", optional: true},
}

// Kinds lists all server programs, found or not.
func Kinds() []Kind { return []Kind{Redis, Valkey, Redict, Redis8, Valkey9} }

// String returns the program's name as subtests spell it, such as Redis.
func (k Kind) String() string { return programs[k].name }

// variable names the environment variable with the path of another binary: HASP_REDIS_SERVER.
func (k Kind) variable() string { return "HASP_" + strings.ToUpper(k.String()) + "_SERVER" }

type finding struct {
	path, version string
	ok            bool
}

// findings holds what is known of each Kind, looked up once per process.
var findings = sync.OnceValue(func() (all [len(programs)]finding) {
	for _, kind := range Kinds() {
		all[kind] = find(kind)
	}
	return all
})

// Find returns the path of kind's binary and its version, such as 8.0.1; ok is false if there is
// none. It looks once per process.
func Find(kind Kind) (path, version string, ok bool) {
	found := findings()[kind]
	return found.path, found.version, found.ok
}

func find(kind Kind) finding {
	name := os.Getenv(kind.variable())
	if name == "" {
		name = programs[kind].binary
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

// TB is the part of testing.TB that this package needs.
type TB interface {
	proxy.TB
	Failed() bool
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Need skips the test if kind's binary is missing, or fails it if HASP_REQUIRE_SERVERS is 1 and the
// program is a required one.
func Need(tb TB, kind Kind) {
	tb.Helper()
	reason := Missing(kind)
	switch {
	case reason == "":
	case !programs[kind].optional && os.Getenv("HASP_REQUIRE_SERVERS") == "1":
		tb.Fatalf("%s: run conformance/servers/install.sh", reason)
	default:
		tb.Skipf("%s", reason)
	}
}

// Missing returns why kind cannot be started; "" if it can.
func Missing(kind Kind) string {
	if _, _, ok := Find(kind); ok {
		return ""
	}
	return fmt.Sprintf("no %s on PATH, nor in %s", programs[kind].binary, kind.variable())
}
