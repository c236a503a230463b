package redisson

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
)

const (
	// patience bounds what is expected to happen at once, or, of the first answer, when a JVM has
	// started.
	patience = time.Minute

	// aWhile is how long something is watched that is not expected to happen.
	aWhile = 300 * time.Millisecond
)

// peer is a Redisson client, in a process of its own: testdata/Peer.java.
type peer struct {
	t       *testing.T
	at      cells.Client
	process *os.Process
	calls   io.Writer

	mu      sync.Mutex
	answers []chan string // by the call's number
	killed  bool
}

// kill ends the process as kill -9 does.
func (p *peer) kill() {
	p.t.Helper()
	p.killed = true
	require.NoError(p.t, p.process.Kill())
}

// libraries returns the class path of a peer, which Maven fetches.
func libraries(t *testing.T) string {
	t.Helper()
	if os.Getenv("HASP_REDISSON") == "" {
		t.Skip("HASP_REDISSON is not set: it takes Java 17, Maven, and what Maven fetches")
	}
	path, err := classPath()
	require.NoError(t, err, path)
	return path
}

var classPath = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "redisson")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "classpath")
	out, err := exec.Command("mvn", "-q", "-B", "-f", "testdata/pom.xml", //nolint:gosec,noctx // Ours.
		"dependency:build-classpath", "-Dmdep.outputFile="+file).CombinedOutput()
	if err != nil {
		return string(out), err
	}
	path, err := os.ReadFile(file) //nolint:gosec // Ours.
	return string(path), err
})

// startPeer starts a Redisson client of a server, of a cluster, or of more servers, which have red locks.
func startPeer(t *testing.T, at cells.Client) *peer {
	t.Helper()
	words := []string{"-cp", libraries(t), "testdata/Peer.java"}
	if at.Cluster {
		words = append(words, "cluster")
	}
	for _, addr := range at.Addrs {
		words = append(words, "redis://"+addr)
	}
	java := exec.Command("java", words...) //nolint:gosec,noctx // It ends with its input.
	java.Stderr = os.Stderr
	calls, err := java.StdinPipe()
	require.NoError(t, err)
	answers, err := java.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, java.Start())
	p := &peer{
		t: t, at: at, process: java.Process, calls: calls, answers: []chan string{make(chan string, 1)},
	}
	go p.listen(answers)
	t.Cleanup(func() {
		_ = calls.Close()
		err := java.Wait()
		require.True(t, p.killed || err == nil, "%v", err)
	})
	p.await(p.answers[0], "ready")
	return p
}

func (p *peer) listen(answers io.Reader) {
	for lines := bufio.NewScanner(answers); lines.Scan(); {
		number, answer, _ := strings.Cut(lines.Text(), " ")
		if i, err := strconv.Atoi(number); err == nil {
			p.mu.Lock()
			p.answers[i] <- answer
			p.mu.Unlock()
		}
	}
}

// begin begins a call of Redisson's method, on the object called name.
func (p *peer) begin(method, name string, args ...any) chan string {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintln(append([]any{len(p.answers), method, name}, args...)...)
	answer := make(chan string, 1)
	p.answers = append(p.answers, answer)
	_, err := io.WriteString(p.calls, line)
	require.NoError(p.t, err)
	return answer
}

// does makes a call, and requires its answer.
func (p *peer) does(want, method, name string, args ...any) {
	p.t.Helper()
	p.await(p.begin(method, name, args...), want)
}

// refuses makes a call, and requires that it fails for that reason.
func (p *peer) refuses(reason, method, name string, args ...any) {
	p.t.Helper()
	answer := cells.Within(p.t, patience, "the refusal", p.begin(method, name, args...))
	require.Contains(p.t, answer, "Exception: "+reason)
}

// await requires the answer of a call that was begun.
func (p *peer) await(answer chan string, want string) {
	p.t.Helper()
	require.Equal(p.t, want, cells.Within(p.t, patience, "the answer "+want, answer))
}

// waits requires that a call does not return for now.
func (p *peer) waits(answer chan string) {
	p.t.Helper()
	require.Never(p.t, func() bool { return len(answer) > 0 }, aWhile, aWhile/30, "it did not wait")
}

// begin begins a call of ours.
func begin(call func() error) chan string {
	answer := make(chan string, 1)
	go func() { answer <- fmt.Sprint(call()) }()
	return answer
}
