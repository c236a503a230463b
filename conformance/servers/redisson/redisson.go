// Package redisson starts a Redisson client, in a JVM of its own, and calls its methods. It takes Java 17 and
// Maven, which fetches Redisson. Peer.java is the program in the JVM, which says what methods there are.
package redisson

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// startTimeout bounds how long a JVM takes to start, and to connect its client.
const startTimeout = time.Minute

// ErrEnded means that the JVM has ended, so a call has no answer.
var ErrEnded = errors.New("the JVM of the Redisson client has ended")

// Client is a Redisson client in a process of its own. Its methods are safe for concurrent use.
type Client struct {
	process *os.Process
	calls   io.Writer
	ended   chan struct{} // closed when there are no more answers

	killed atomic.Bool

	mu      sync.Mutex
	answers []chan string // by the call's number
}

// Start starts a client that ends with the test, and waits until it is connected: to the first address and, for
// red locks alone, to the others; or to the cluster that has nodes at the addresses.
func Start(tb proxy.TB, cluster bool, addrs ...string) *Client {
	tb.Helper()
	c := &Client{ended: make(chan struct{}), answers: []chan string{make(chan string, 1)}}
	words := addrs
	if cluster {
		words = append([]string{"cluster"}, addrs...)
	}
	dir, err := folder()
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err == nil {
		err = c.start(tb, dir, words)
	}
	if err != nil {
		tb.Fatalf("starting a Redisson client: %v", err)
	}
	return c
}

// start starts the program in folder dir, which has it, and waits until it is connected. It ends with the test.
func (c *Client) start(tb proxy.TB, dir string, words []string) error {
	paths, err := classPaths()
	if err == nil {
		err = run(dir, "javac", "-nowarn", "-cp", paths[0], "Peer.java")
	}
	if err != nil {
		return err
	}
	java := exec.Command("java", append([]string{"-cp", dir + string(os.PathListSeparator) + paths[1], "Peer"}, words...)...)
	java.Stderr = os.Stderr
	calls, failed := java.StdinPipe()
	answers, err := java.StdoutPipe()
	if err = errors.Join(failed, err); err == nil {
		err = java.Start()
	}
	if err != nil {
		return err
	}
	c.process, c.calls = java.Process, calls
	go c.listen(answers)
	tb.Cleanup(func() {
		_ = calls.Close() // It ends with its input.
		<-c.ended
		if err := java.Wait(); err != nil && !c.killed.Load() {
			tb.Errorf("the JVM of the Redisson client: %v", err)
		}
	})
	return c.ready()
}

// listen hands out the answers.
func (c *Client) listen(answers io.Reader) {
	defer close(c.ended)
	for lines := bufio.NewScanner(answers); lines.Scan(); {
		number, answer, _ := strings.Cut(lines.Text(), " ")
		if i, err := strconv.Atoi(number); err == nil {
			c.mu.Lock()
			c.answers[i] <- answer
			c.mu.Unlock()
		}
	}
}

// ready waits for the first line, which answers no call.
func (c *Client) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	_, err := c.await(ctx, c.answers[0])
	return err
}

func (c *Client) await(ctx context.Context, answer <-chan string) (string, error) {
	select {
	case text := <-answer:
		return text, nil
	case <-c.ended:
		select {
		case text := <-answer: // The last one.
			return text, nil
		default:
			return "", ErrEnded
		}
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Begin begins a call of a method on the object called name, and returns where its answer comes. There is none
// if the JVM ends. The words must not have spaces.
func (c *Client) Begin(method, name string, args ...any) (answer <-chan string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := fmt.Sprintln(append([]any{len(c.answers), method, name}, args...)...)
	coming := make(chan string, 1)
	c.answers = append(c.answers, coming)
	_, err = io.WriteString(c.calls, line)
	return coming, err
}

// Do calls a method as Begin does, and waits for its answer. An exception is an answer. It returns [ErrEnded] if
// the JVM ends, and ctx's error if ctx is done; the call then goes on.
func (c *Client) Do(ctx context.Context, method, name string, args ...any) (string, error) {
	answer, err := c.Begin(method, name, args...)
	if err != nil {
		return "", err
	}
	return c.await(ctx, answer)
}

// Kill ends the process as kill -9 does.
func (c *Client) Kill() error {
	c.killed.Store(true)
	return c.process.Kill()
}

//go:embed Peer.java
var program string

//go:embed pom.xml
var project string

// newest is the version of Redisson that Peer.java is compiled with. A method that an older version lacks fails when it
// is called.
var newest = regexp.MustCompile(`<redisson>(.*?)<`).FindStringSubmatch(project)[1]

// Version returns the version of Redisson that runs, such as 3.17.6. HASP_REDISSON may name one.
func Version() string {
	return cmp.Or(regexp.MustCompile(`^\d+\.\d+\.\d+$`).FindString(os.Getenv("HASP_REDISSON")), newest)
}

// javaNeeded is the first version of Java that runs the program.
const javaNeeded = 17

// Prepare has Maven fetch Redisson, once per process. It returns why [Start] would fail: Java 17 or Maven is not on
// PATH, or Maven cannot fetch what it takes.
func Prepare() error {
	if err := installed(); err != nil {
		return err
	}
	_, err := classPaths()
	return err
}

// installed returns an error if Java or Maven is missing, or Java is too old.
func installed() error {
	for _, tool := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("it takes Java %d and Maven: %w", javaNeeded, err)
		}
	}
	out, err := exec.Command("java", "--version").CombinedOutput() // Java 8 does not know it.
	name, version := "", 0
	_, _ = fmt.Sscanf(string(out), "%s %d", &name, &version)
	if err != nil || version < javaNeeded {
		return fmt.Errorf("it takes Java %d, and java --version says %q (error %v)", javaNeeded, out, err)
	}
	return nil
}

// classPaths returns two class paths, as Maven makes them: of the newest version, and of the version that runs.
var classPaths = sync.OnceValues(func() (paths [2]string, err error) {
	dir, err := folder()
	defer func() { _ = os.RemoveAll(dir) }()
	for i, version := range []string{newest, Version()} {
		if err == nil && (i == 0 || version != newest) {
			err = run(dir, "mvn", "-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=classpath", "-Dredisson="+version)
		}
		text, missing := os.ReadFile(filepath.Join(dir, "classpath"))
		paths[i], err = string(text), errors.Join(err, missing)
	}
	return paths, err
})

// folder makes a folder that has the program. The caller removes it.
func folder() (dir string, err error) {
	dir, err = os.MkdirTemp("", "redisson")
	for name, text := range map[string]string{"Peer.java": program, "pom.xml": project} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir, err
}

// run runs a tool in folder dir.
func run(dir, tool string, args ...string) error {
	command := exec.Command(tool, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", tool, err, out)
	}
	return nil
}
