package servers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

const (
	// childArgs is the variable that has the arguments of a child.
	childArgs = "HASP_CHILD_ARGS"
	// childSays begins what a child says to its parent; the rest of its output is of package testing.
	childSays = "child: "
)

// Child is a process of its own that runs one test of a test binary, in order to be killed or stopped.
type Child struct {
	// Lines are what it says, one by one. They are closed when it has ended.
	Lines <-chan string

	process *os.Process
	orders  io.Writer
}

// StartChild runs a test binary, such as this one again, which is os.Args[0], with one test or subtest alone, which
// begins by [AsChild]. The arguments have no spaces. The child ends with tb, or when this process does.
func StartChild(tb TB, program, test string, args ...string) *Child {
	tb.Helper()
	cmd := exec.Command(program, "-test.run=^"+strings.ReplaceAll(regexp.QuoteMeta(test), "/", "$/^")+"$") //nolint:gosec,noctx // Ours, until tb ends.
	cmd.Env = append(os.Environ(), childArgs+"="+strings.Join(args, " "))
	cmd.Stderr = os.Stderr
	orders, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		tb.Fatalf("starting a child: %v", err)
	}
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
func (c *Child) Next(tb TB) string {
	tb.Helper()
	var line string
	select {
	case line = <-c.Lines:
	case <-time.After(2 * patience):
	}
	if line == "" {
		tb.Fatalf("the child has ended, or says nothing for %v", 2*patience)
	}
	return line
}

// Order sends the child a line.
func (c *Child) Order(line string) error {
	_, err := io.WriteString(c.orders, line+"\n")
	return err
}

// Pause stops the child where it is, as [Server.Pause] does: it fails on Windows.
func (c *Child) Pause() error { return c.process.Signal(pauseSignal) }

// Resume lets a paused child go on.
func (c *Child) Resume() error { return c.process.Signal(resumeSignal) }

// Kill kills the child as kill -9 does, even if it is paused. It returns when the child has ended.
func (c *Child) Kill(tb TB) {
	tb.Helper()
	err := c.process.Kill()
	if err == nil {
		_, err = c.process.Wait()
	}
	if err != nil {
		tb.Errorf("killing a child: %v", err)
	}
}

// IsChild reports whether this process is a child.
func IsChild() bool {
	_, is := os.LookupEnv(childArgs)
	return is
}

// AsChild returns the arguments of a child, and the lines that its parent sends. It skips tb in any other
// process. The child ends with its parent.
func AsChild(tb TB) (args []string, orders <-chan string) {
	tb.Helper()
	if !IsChild() {
		tb.Skipf("it is the child of other tests")
	}
	lines := make(chan string)
	go func() {
		for all := bufio.NewScanner(os.Stdin); all.Scan(); {
			lines <- all.Text()
		}
		os.Exit(0)
	}()
	return strings.Fields(os.Getenv(childArgs)), lines
}

// Say says a line to the parent of this child.
func Say(words ...any) { fmt.Print(childSays + fmt.Sprintln(words...)) }
