package goredisbackend_test

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
)

// hangup as an answer closes the connection; none answers nothing.
const (
	hangup = "hangup"
	none   = ""
)

// fakeServer speaks just enough RESP to answer each command by answer, in RESP, and notes them.
type fakeServer struct {
	addr   string
	answer func(words []string) string

	mu      sync.Mutex
	seen    []string
	refused []net.Conn               // go-redis before 9.23 leaves them open
	hello   func()                   // runs before a connection is set up
	refuse  func(name string) string // answers commands that set a connection up, with "" by default
}

func newFakeServer(t *testing.T, answer func(words []string) string) *fakeServer {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := &fakeServer{addr: listener.Addr().String(), answer: answer}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.mu.Lock()
		for _, conn := range s.refused {
			_ = conn.Close()
		}
		s.mu.Unlock()
		open.Wait()
	})
	return s
}

func (s *fakeServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	s.mu.Lock()
	if s.refuse != nil {
		s.refused = append(s.refused, conn)
	}
	s.mu.Unlock()
	in := bufio.NewReader(conn)
	for {
		words, err := readCommand(in)
		if err != nil {
			return
		}
		answer := s.reply(words)
		if answer == hangup {
			return
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// reply answers what the driver sends on its own account, and asks the test for the rest.
func (s *fakeServer) reply(words []string) string {
	s.mu.Lock()
	refuse, hello := s.refuse, s.hello
	s.mu.Unlock()
	if refuse != nil {
		if answer := refuse(strings.ToUpper(words[0])); answer != "" {
			return answer
		}
	}
	switch strings.ToUpper(words[0]) {
	case "HELLO":
		if hello != nil {
			hello()
		}
		return "%1\r\n+proto\r\n:3\r\n"
	case "CLIENT", "READONLY":
		return "+OK\r\n"
	}
	s.mu.Lock()
	s.seen = append(s.seen, strings.Join(words, " ")+"\n")
	s.mu.Unlock()
	if strings.ToUpper(words[0]) == "PING" {
		return "+PONG\r\n"
	}
	return s.answer(words)
}

// change runs set, which changes fields of s that connections read meanwhile.
func (s *fakeServer) change(set func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set()
}

// count returns how many commands seen hold text.
func (s *fakeServer) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, command := range s.seen {
		if strings.Contains(command, text) {
			n++
		}
	}
	return n
}

func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readNumber(in)
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := readNumber(in)
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}

func readNumber(in *bufio.Reader) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// connect returns a backend over a client of s.
func connect(t *testing.T, s *fakeServer, opts redis.Options) *goredisbackend.Backend {
	t.Helper()
	opts.Addr = s.addr
	client := redis.NewClient(&opts)
	t.Cleanup(func() { _ = client.Close() })
	b := must(goredisbackend.New(client, nil))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
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
