package rueidisbackend_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
)

const (
	ok     = "+OK\r\n"
	hangUp = "hang up"

	patience = time.Minute // of the client with a server that is silent
)

// fakeServer answers commands by a function; those of setting up a connection by itself.
type fakeServer struct {
	answer func(words []string) string
	before func() // called by each dial; nil: nothing

	refusal atomic.Value // a string that answers all commands, once it is set

	mu    sync.Mutex
	calls []string
	conns map[net.Conn]bool // that are open
}

// client returns a client whose connections lead to the server. It is closed with the test.
func (f *fakeServer) client(t *testing.T) rueidis.Client {
	t.Helper()
	return f.clientOf(t, false)
}

func (f *fakeServer) clientOf(t *testing.T, resp2 bool) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		AlwaysRESP2:       resp2,
		InitAddress:       []string{"127.0.0.1:1"},
		ForceSingleClient: true,
		DisableCache:      true,
		ConnWriteTimeout:  patience,
		DialCtxFn:         f.dial,
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// connect returns a backend on a client of the server. It is closed with the test.
func (f *fakeServer) connect(t *testing.T) *rueidisbackend.Backend {
	t.Helper()
	b := must(rueidisbackend.New(f.client(t), nil))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// listen serves f at the address that it returns, for as long as the process runs.
func (f *fakeServer) listen() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return listener.Addr().String()
}

func (f *fakeServer) dial(
	context.Context, string, *net.Dialer, *tls.Config,
) (net.Conn, error) {
	if f.before != nil {
		f.before()
	}
	near, far := net.Pipe()
	go f.serve(far)
	return near, nil
}

func (f *fakeServer) serve(conn net.Conn) {
	f.mu.Lock()
	if f.conns == nil {
		f.conns = map[net.Conn]bool{}
	}
	f.conns[conn] = true
	f.mu.Unlock()
	defer f.hangUp(conn)
	in := bufio.NewReader(conn)
	for {
		words, err := readCommand(in)
		if err != nil {
			return
		}
		answer := f.reply(words)
		if answer == hangUp {
			return
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

func (f *fakeServer) reply(words []string) string {
	if refusal, ok := f.refusal.Load().(string); ok {
		return refusal
	}
	switch words[0] {
	case "HELLO":
		return "%2\r\n" + bulk("version") + bulk("7.0.0") + bulk("proto") + ":3\r\n"
	case "CLIENT":
		return ok
	case "PING":
		return "+PONG\r\n"
	case "SUBSCRIBE":
		f.note(words)
		return ">3\r\n" + bulk(strings.ToLower(words[0])) + bulk(words[1]) + ":1\r\n"
	}
	f.note(words)
	return f.answer(words)
}

func (f *fakeServer) note(words []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(words, " "))
}

// hangUp closes connections.
func (f *fakeServer) hangUp(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(f.conns, conn)
	}
}

// open returns the open connections.
func (f *fakeServer) open() []net.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.conns))
}

func (f *fakeServer) commands() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// readCommand reads an array of bulk strings.
func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readLength(in, '*')
	words := make([]string, max(n, 0))
	for i := range words {
		if n, err = readLength(in, '$'); err != nil {
			return nil, err
		}
		word := make([]byte, n+2)
		if _, err = io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:n])
	}
	return words, err
}

func readLength(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("want %c, got %q", kind, line)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// must returns a function that returns what a call returned, and requires that it did not fail.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// errOf returns the error alone that a call returned.
func errOf[T any](_ T, err error) error { return err }
