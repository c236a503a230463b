package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/examples/programs/internal/process"
	"github.com/hasp-go/hasp/hasptest"
)

func TestMain(m *testing.M) { os.Exit(process.Main(main, m.Run)) }

// printed is what both candidates have printed.
type printed struct {
	mu    sync.Mutex
	lines map[int]int64 // the candidate, and the last token that it has printed
}

// candidate returns what a candidate prints to.
func (p *printed) candidate(i int) candidate { return candidate{p, i} }

type candidate struct {
	*printed
	i int
}

// Write implements io.Writer.
func (c candidate) Write(line []byte) (int, error) {
	var token int64
	if _, err := fmt.Sscan(string(line), &token); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines[c.i] = token
	return len(line), nil
}

// next returns the candidates that print in the next ten seconds, and their tokens.
func (p *printed) next() map[int]int64 {
	p.mu.Lock()
	p.lines = map[int]int64{}
	p.mu.Unlock()
	time.Sleep(10 * time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.lines)
}

// TestLostLeadership takes the leadership away from one of two candidates: a minute later there is one leader, with a
// higher token.
func TestLostLeadership(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, p := hasptest.New(t), &printed{}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 2)
		for i := range 2 {
			client := server.Client(nil)
			go func() { ended <- campaign(ctx, client, p.candidate(i)) }()
		}
		before := p.next()
		require.Len(t, before, 1)
		server.Lose("clock")
		time.Sleep(time.Minute)
		after := p.next()
		require.Len(t, after, 1)
		require.Greater(t, only(after), only(before))
		stop()
		for range 2 {
			require.NoError(t, <-ended)
		}
	})
}

// only returns the only token.
func only(tokens map[int]int64) (token int64) {
	for _, token = range tokens {
	}
	return token
}

// TestRedis interrupts the leader of two processes on a real server: it ends without an error, and the other leads.
func TestRedis(t *testing.T) {
	t.Parallel()
	addr := servers.Start(t, servers.Redis, nil).Addr()
	first, output := start(t, addr)
	before := token(t, output)
	_, output = start(t, addr)
	require.NoError(t, first.Process.Signal(os.Interrupt))
	require.Greater(t, token(t, output), before)
	require.NoError(t, first.Wait())
}

// start starts a process, which is killed at the end of the test.
func start(t *testing.T, addr string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd, err := process.Command(t.Context(), addr)
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewReader(output)
}

// token returns the token of the next line.
func token(t *testing.T, output *bufio.Reader) (token int64) {
	t.Helper()
	line, err := output.ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscan(line, &token)
	require.NoError(t, err)
	return token
}
