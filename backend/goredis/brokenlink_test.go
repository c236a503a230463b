package goredisbackend_test

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

// brokenConn fails as package net does, once, when a script is sent or its reply is read.
type brokenConn struct {
	net.Conn
	op     string // "write" or "read"
	sent   bool   // the server gets the script before the write fails
	armed  *atomic.Bool
	script bool // the next read is of its reply
}

func (c *brokenConn) Write(b []byte) (int, error) {
	if c.script = bytes.Contains(b, []byte("EVALSHA")); !c.script || c.op != "write" || !c.armed.CompareAndSwap(true, false) {
		return c.Conn.Write(b)
	}
	n := 0
	if c.sent {
		n, _ = c.Conn.Write(b)
	}
	return n, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
}

func (c *brokenConn) Read(b []byte) (int, error) {
	if !c.script || c.op != "read" || !c.armed.CompareAndSwap(true, false) {
		return c.Conn.Read(b)
	}
	return 0, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

// TestBrokenLink breaks the link at each operation of a call. Only a dial proves that nothing was sent: whatever else
// fails, the outcome is unknown, and nothing is sent again, although a second try would succeed.
func TestBrokenLink(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		op   string
		sent bool
	}{"Write": {"write", false}, "WriteThatArrived": {"write", true}, "Read": {"read", true}} {
		for way, call := range map[string]func(b backend.Backend) error{
			"Run": func(b backend.Backend) error {
				_, err := b.Run(t.Context(), script, []string{"k"}, nil)
				return err
			},
			"RunBatch": func(b backend.Backend) error {
				calls := []backend.Call{{Script: script, Keys: []string{"k"}}, {Script: script, Keys: []string{"k"}}}
				return backend.RunAll(t.Context(), b.(backend.Batcher), calls)[1].Err
			},
			"RunThenWait": func(b backend.Backend) (err error) {
				calls := []backend.Call{{Script: script, Keys: []string{"k"}}}
				b.(backend.ReplicaWaiter).RunThenWait(t.Context(), calls, 0, 0, func(_ int, o backend.Outcome) { err = o.Err })
				return err
			},
		} {
			t.Run(name+way, func(t *testing.T) {
				t.Parallel()
				s := newFakeServer(t, func([]string) string { return ":1\r\n" })
				armed := new(atomic.Bool)
				b := connect(t, s, redis.Options{
					MaxRetries: 5, Protocol: 2, DisableIdentity: true,
					Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
						conn, err := new(net.Dialer).DialContext(ctx, network, addr)
						return &brokenConn{Conn: conn, op: broken.op, sent: broken.sent, armed: armed}, err
					},
				})
				armed.Store(true)
				require.ErrorIs(t, call(b), backend.ErrIndeterminate)
				require.False(t, armed.Load(), "the link has broken")
				require.LessOrEqual(t, s.count("EVALSHA"), 2, "each call is sent once at most")
			})
		}
	}
}
