package cells

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
)

// Poll is how soon a waiter looks again that got no message: the default of primitives.Options, give or take a tenth.
const Poll = 5500 * time.Millisecond

const (
	// killing is the variable that says for how long processes are killed. By default it is short.
	killing = "HASP_KILLING"
	// childArgs is the variable that has the arguments of a child.
	childArgs = "HASP_CHILD_ARGS"
	// childSays begins what a child says to its parent; the rest of its output is of package testing.
	childSays = "child: "
)

// Child is a process of its own that runs one test of the test binary, in order to be killed or stopped.
type Child struct {
	// Lines are what it says, one by one. They are closed when it has ended.
	Lines <-chan string

	process *os.Process
	orders  io.Writer
}

// StartChild runs a test binary, such as this one again, which is os.Args[0], with one test alone, which begins by
// [AsChild]. The arguments have no spaces. The child ends with tb, or when this process does.
func StartChild(tb testing.TB, program, test string, args ...string) *Child {
	tb.Helper()
	cmd := exec.Command(program, "-test.run=^"+test+"$") //nolint:gosec,noctx // Ours, until tb ends.
	cmd.Env = append(os.Environ(), childArgs+"="+strings.Join(args, " "))
	cmd.Stderr = os.Stderr
	orders := Got(cmd.StdinPipe())(tb)
	out := Got(cmd.StdoutPipe())(tb)
	require.NoError(tb, cmd.Start())
	lines := make(chan string, 1000)
	go listen(out, lines)
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait()
		_ = orders.Close()
		for range lines { // what nobody has read
		}
	})
	return &Child{Lines: lines, process: cmd.Process, orders: orders}
}

// listen passes on what a child says, and shows the rest, by which it fails.
func listen(out io.ReadCloser, lines chan<- string) {
	defer close(lines)
	defer func() { _ = out.Close() }()
	for all := bufio.NewScanner(out); all.Scan(); {
		if line, ok := strings.CutPrefix(all.Text(), childSays); ok {
			lines <- line
		} else {
			fmt.Fprintln(os.Stderr, all.Text())
		}
	}
}

// Next returns the next line that the child says.
func (c *Child) Next(tb testing.TB) string {
	tb.Helper()
	line := Within(tb, conformance.Patience, "the child's next line", c.Lines)
	require.NotEmpty(tb, line, "the child has ended")
	return line
}

// Order sends the child a line.
func (c *Child) Order(line string) error {
	_, err := io.WriteString(c.orders, line+"\n")
	return err
}

// Signal sends the child a signal.
func (c *Child) Signal(tb testing.TB, s os.Signal) {
	tb.Helper()
	require.NoError(tb, c.process.Signal(s))
}

// Kill kills the child as kill -9 does, and returns when it has ended.
func (c *Child) Kill(tb testing.TB) {
	tb.Helper()
	c.Signal(tb, os.Kill)
	require.Equal(tb, "signal: killed", Got(c.process.Wait())(tb).String())
}

// AsChild returns the arguments of a child, and the lines that its parent sends. It skips tb in any other
// process. The child ends with its parent.
func AsChild(tb testing.TB) (args []string, orders <-chan string) {
	tb.Helper()
	line, ok := os.LookupEnv(childArgs)
	if !ok {
		tb.Skip("it is the child of other tests")
	}
	lines := make(chan string)
	go func() {
		for all := bufio.NewScanner(os.Stdin); all.Scan(); {
			lines <- all.Text()
		}
		os.Exit(0)
	}()
	return strings.Fields(line), lines
}

// Say says a line to the parent of this child.
func Say(words ...any) { fmt.Print(childSays + fmt.Sprintln(words...)) }

// Killing runs round, which kills processes, again and again for as long as the variable says, and returns how often.
func Killing(tb testing.TB, round func()) (rounds int) {
	tb.Helper()
	lasts := Got(time.ParseDuration(cmp.Or(os.Getenv(killing), "1s")))(tb)
	for end := time.Now().Add(lasts); rounds == 0 || time.Now().Before(end); rounds++ {
		round()
	}
	return rounds
}
