// Package adaptertest has a fake server, and what is tested of each adapter by it.
package adaptertest

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	OK     = "+OK\r\n"
	HangUp = "hang up" // as an answer closes the connection
)

// Server answers each command by a function, in RESP, but for those that set up a connection. It notes the others.
type Server struct {
	Addr   string // Listen sets it.
	Answer func(words []string) string

	mu    sync.Mutex
	setUp func(name string) string
	seen  []string
	conns map[net.Conn]bool // that are open
}

// SetUp has a function answer commands that set up a connection; "" for a usual answer.
func (s *Server) SetUp(answer func(name string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setUp = answer
}

// Listen serves at an address until the test ends, and returns s.
func (s *Server) Listen(t *testing.T) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.Addr = listener.Addr().String()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.Serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.HangUp(s.Open()...) // go-redis before 9.23 leaves some open.
		all.Wait()
	})
	return s
}

// Serve answers on a connection until that ends.
func (s *Server) Serve(conn net.Conn) {
	s.mu.Lock()
	if s.conns == nil {
		s.conns = map[net.Conn]bool{}
	}
	s.conns[conn] = true
	s.mu.Unlock()
	defer s.HangUp(conn)
	in := bufio.NewReader(conn)
	for {
		words, err := readCommand(in)
		if err != nil {
			return
		}
		answer := s.reply(words)
		if answer == HangUp {
			return
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

func (s *Server) reply(words []string) string {
	s.mu.Lock()
	setUp := s.setUp
	s.mu.Unlock()
	name := strings.ToUpper(words[0])
	if setUp != nil {
		if answer := setUp(name); answer != "" {
			return answer
		}
	}
	switch name {
	case "HELLO":
		return "%2\r\n" + Bulk("version") + Bulk("7.0.0") + Bulk("proto") + ":3\r\n"
	case "CLIENT", "READONLY":
		return OK
	case "PING":
		return "+PONG\r\n"
	}
	s.mu.Lock()
	s.seen = append(s.seen, strings.Join(words, " "))
	s.mu.Unlock()
	return s.Answer(words)
}

// HangUp closes connections.
func (s *Server) HangUp(conns ...net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(s.conns, conn)
	}
}

// Open returns the open connections.
func (s *Server) Open() []net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

// Commands returns the commands that it has noted.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Count returns how many of them hold text. Each ends with a newline.
func (s *Server) Count(text string) (n int) {
	for _, command := range s.Commands() {
		if strings.Contains(command+"\n", text) {
			n++
		}
	}
	return n
}

// Bulk writes a text in RESP.
func Bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// Ack is the answer to a SUBSCRIBE or UNSUBSCRIBE.
func Ack(words []string) string {
	return ">3\r\n" + Bulk(strings.ToLower(words[0])) + Bulk(words[1]) + ":1\r\n"
}

// Double answers with the double of the last word, and is no cluster.
func Double(words []string) string {
	if words[0] == "CLUSTER" {
		return "-ERR This instance has cluster support disabled\r\n"
	}
	n, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return "-ERR " + err.Error() + "\r\n"
	}
	return fmt.Sprintf(":%d\r\n", 2*n)
}

// readCommand reads an array of bulk strings.
func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readNumber(in)
	words := make([]string, n)
	for i := range words {
		if n, err = readNumber(in); err != nil {
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

func readNumber(in *bufio.Reader) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
