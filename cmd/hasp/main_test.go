//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/cmd/hasp/internal/guard"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
)

// binary is the program: a link to the test's binary, which is the program under its name.
var binary string

// TestMain runs the tests. In other processes the test's binary is the program, or a worker that the program runs.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "hasp", guard.Name:
		main()
	}
	if kind := os.Getenv(workerVariable); kind != "" {
		work(kind)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	for _, s := range ending { // Programs inherit what is ignored, as SIGHUP is under nohup.
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	dir, err := os.MkdirTemp("", "hasp")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "hasp")
	if err := os.Symlink(self, binary); err != nil {
		panic(err)
	}
	if err := os.Setenv("PATH", dir+":"+os.Getenv("PATH")); err != nil {
		panic(err)
	}
	return conformance.Main(m)
}

// workerVariable is set in the environment of a worker to its kind.
const workerVariable = "HASP_TEST_WORKER"

// workers are kinds of workers that this system has.
var workers = map[string]func(){}

// work appends lines to the file in WORK_FILE, with its hasp's owner and its process id, for as long as it runs. Kind "stubborn" ignores the
// signals that ask it to end, and "brief" ends after one line.
func work(kind string) {
	if other := workers[kind]; other != nil {
		other()
	}
	if kind == "stubborn" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	file, err := os.OpenFile(os.Getenv("WORK_FILE"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	for err == nil {
		fmt.Fprintln(file, os.Getenv("HASP_OWNER"), os.Getpid())
		if kind == "brief" {
			break
		}
		time.Sleep(time.Millisecond)
		_, err = os.Stat(file.Name()) // It is gone when the test has ended.
	}
	os.Exit(0)
}

// shared is what workers append to: the oracle, which no server has part in.
type shared struct{ file string }

func newShared(t *testing.T) shared { t.Helper(); return shared{filepath.Join(t.TempDir(), "work")} }

// env returns the environment of a worker.
func (s shared) env(kind string) []string {
	return []string{workerVariable + "=" + kind, "WORK_FILE=" + s.file}
}

// owners returns the owners and their processes in the order of their first lines. It fails if one has a line after the first of the next.
func (s shared) owners(t *testing.T) (owners []string) {
	t.Helper()
	text, err := os.ReadFile(s.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		owner, whole := strings.CutSuffix(line, "\n")
		if !whole {
			break // The rest of it, on the file's next page, is just being written.
		}
		if len(owners) == 0 || owners[len(owners)-1] != owner {
			require.False(t, seen[owner], "%s worked after another had begun:\n%v", owner, owners)
			seen[owner], owners = true, append(owners, owner)
		}
	}
	return owners
}

// await waits until n owners have worked.
func (s shared) await(t *testing.T, n int) {
	t.Helper()
	eventually(t, func() bool { return len(s.owners(t)) >= n })
}

// patience is only there to end a test that has failed.
const patience = 30 * time.Second

// eventually waits for a condition.
func eventually(tb testing.TB, condition func() bool) {
	tb.Helper()
	for begin := time.Now(); !condition(); time.Sleep(2 * time.Millisecond) {
		require.Less(tb, time.Since(begin), patience)
	}
}

// hasp is a process of the program.
type hasp struct {
	*exec.Cmd
	errors *output
	output *output
	ended  chan struct{} // closed when it has
	keys   io.Writer     // of its terminal, if that is its own
}

// output is what a process has written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts the program, with more variables in its environment. It ends with the test.
func start(tb testing.TB, env []string, args ...string) *hasp {
	tb.Helper()
	c := exec.CommandContext(context.Background(), binary, args...)
	c.Env = append(os.Environ(), env...)
	return begin(tb, c)
}

// ended runs the program to its end, with such a code.
func ended(tb testing.TB, code int, env string, args ...string) *hasp {
	tb.Helper()
	h := start(tb, []string{env}, args...)
	require.Equal(tb, code, h.code(tb), "%s: %s%s", args, h.output, h.errors)
	return h
}

// begin starts a command, which ends with the test.
func begin(tb testing.TB, c *exec.Cmd) *hasp {
	tb.Helper()
	h := &hasp{c, &output{}, &output{}, make(chan struct{}), nil}
	h.Stdout, h.Stderr, h.WaitDelay = h.output, h.errors, time.Second
	require.NoError(tb, h.Start())
	go func() {
		_ = h.Wait()
		close(h.ended)
	}()
	tb.Cleanup(func() {
		_ = h.Process.Kill()
		<-h.ended
	})
	return h
}

func (h *hasp) hasEnded() bool {
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

// code waits for the end, and returns the exit code.
func (h *hasp) code(tb testing.TB) int {
	tb.Helper()
	select {
	case <-h.ended:
	case <-time.After(patience):
		require.Fail(tb, "the program does not end", "%s", h.Args)
	}
	return h.ProcessState.ExitCode()
}

// signal sends a signal to the program.
func (h *hasp) signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	require.NoError(tb, h.Process.Signal(s))
}

// onServer returns the variable that names a server by its address.
func onServer(addr string) string { return "HASP_URL=redis://" + addr }

// startServer starts a server.
func startServer(tb testing.TB) *servers.Server {
	tb.Helper()
	servers.Need(tb, servers.Redis)
	return servers.Start(tb, servers.Redis, nil)
}

// must returns a function that returns what a call returned, and requires that it did not fail.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// exist returns how many of the keys exist.
func exist(tb testing.TB, s *servers.Server, keys ...string) int64 {
	tb.Helper()
	reply := must(s.Do(append([]string{"EXISTS"}, keys...)...))(tb)
	n := must(reply.Int())(tb)
	return n
}

// words returns the words of a command line.
func words(line string) []string {
	all := strings.Fields(line)
	for i, word := range all {
		all[i] = strings.NewReplacer("␣", " ", "␤", "\n").Replace(word)
	}
	return all
}

// guardOf returns the process id of the guard of a hasp.
func guardOf(tb testing.TB, h *hasp) int {
	tb.Helper()
	for _, pid := range childrenOf(tb, h.Process.Pid) {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.HasPrefix(string(name), guard.Name+"\x00") {
			return pid
		}
	}
	require.Fail(tb, "there is no guard")
	return 0
}

// childrenOf returns the children of a process, on systems that say so.
func childrenOf(tb testing.TB, pid int) (all []int) {
	tb.Helper()
	files := must(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)))(tb)
	for _, file := range files {
		children, _ := os.ReadFile(file) // The thread may have ended.
		for _, text := range strings.Fields(string(children)) {
			child := must(strconv.Atoi(text))(tb)
			all = append(all, child)
		}
	}
	return all
}
