package embedded

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/hasp-go/hasp/backend"
)

// Server is an in-process server that any number of backends share. It starts no goroutine and
// needs no closing. All methods are safe for concurrent use.
type Server struct {
	mini    *miniredis.Miniredis
	scripts *scripts

	mu    sync.Mutex    // also held while a script runs
	ahead time.Duration // of the process's clock
}

// NewServer returns an empty server.
func NewServer() *Server {
	mini := newMini()
	mini.ClockTTL(true)
	return &Server{mini: mini, scripts: &scripts{mini: mini, inside: insideScripts(), known: map[string]*program{}}}
}

// Do runs one command, such as Do("GET", "key"), as a client that is on no backend: for looking at
// what is stored and for preparing it. An error reply is a [*backend.ServerError]. Commands that
// block, such as BLPOP, are not supported.
func (s *Server) Do(args ...string) (backend.Reply, error) {
	if len(args) == 0 {
		return backend.Reply{}, errors.New("embedded: no command")
	}
	if reply, done, err := s.script(args); done {
		return reply, err
	}
	var out bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&out))
	s.mini.Server().Dispatch(peer, args)
	peer.Flush()
	return readReply(out.Bytes())
}

// Advance moves the server's clock by d, and no other clock: keys whose TTL is at most d expire, and TIME
// continues from there. A negative d sets the clock back: then keys expire as much later. It serves
// scripts that read the server's clock.
//
// It is not a way to lose a lock. A holder counts its lease by its own clock, so after an
// Advance past the lease's end two clients hold the same lock by their clocks. The same happens when an
// operator sets a server's clock forward. To make a holder lose its lock call
// [Server.Revoke]; to move all clocks sleep inside a testing/synctest bubble.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
	s.tick()
	if d < 0 {
		s.mini.FastForward(d) // Miniredis keeps TTLs, and not when keys expire.
	}
}

// Revoke makes the holder of a lock lose it so that a test can show how code reacts to that. key is
// the name of a primitives.Lock, behind the KeyPrefix of its client. It fails if nobody holds a lock
// there.
//
// It is the lock's own Revoke, by a client of this server: the holder learns of its loss as it does in
// production, and nobody can acquire the lock before the lease has ended. So a test uses a short
// WatchdogLease, or a testing/synctest bubble.
func (s *Server) Revoke(key string) error {
	client, err := NewClient(s, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	defer func() { _ = client.Close(ctx) }() // It holds nothing.
	left, err := client.NewLock(key, nil).Revoke(ctx, "")
	if err == nil && left == 0 {
		err = fmt.Errorf("revoke lock %q: nobody holds it", key)
	}
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// script runs a command that is about scripts. For any other command it only sets the time, and
// returns false.
func (s *Server) script(args []string) (backend.Reply, bool, error) {
	// Miniredis's lock alone would do. But setting the time takes it as well, and where many callers
	// wait, each would wait twice.
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	return s.scripts.do(args)
}

// dispatch runs one command of a subscriber at the present time, and has the reply written.
func (s *Server) dispatch(peer *server.Peer, args []string) {
	s.mu.Lock()
	s.tick()
	s.mu.Unlock()
	s.mini.Server().Dispatch(peer, args)
	peer.Flush()
}

// tick sets miniredis's clock, under s.mu. With a clock that stands still while a script runs,
// miniredis looks for expired keys once per script; left to itself it does so at each redis.call.
func (s *Server) tick() {
	// Round drops the monotonic reading: a server's clock is the wall's.
	s.mini.SetTime(time.Now().Add(s.ahead).Round(0))
}

func readReply(raw []byte) (backend.Reply, error) {
	parsed, err := server.ParseReply(bufio.NewReader(bytes.NewReader(raw)))
	switch {
	case err == nil:
		return convert(parsed)
	case len(raw) > 0 && raw[0] == '-':
		return backend.Reply{}, backend.ParseServerError(err.Error())
	}
	// An error inside an array is no error reply: the command ran.
	return backend.Reply{}, fmt.Errorf("%w: %w", backend.ErrReply, err)
}

// convert returns the reply for what ParseReply returns.
func convert(parsed any) (backend.Reply, error) {
	switch v := parsed.(type) {
	case nil:
		return backend.Reply{}, nil
	case int:
		return backend.IntegerReply(int64(v)), nil
	case string:
		return backend.StringReply(v), nil
	case server.Simple:
		return backend.StringReply(string(v)), nil
	case []any:
		items := make([]backend.Reply, len(v))
		for i, item := range v {
			var err error
			if items[i], err = convert(item); err != nil {
				return backend.Reply{}, err
			}
		}
		return backend.ArrayReply(items), nil
	}
	return backend.Reply{}, fmt.Errorf("%w: type %T", backend.ErrReply, parsed)
}
