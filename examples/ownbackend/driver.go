package redigobackend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

// driver implements [evalsha.Driver], and [fanout.Dialer] in link.go.
type driver struct {
	pool *redis.Pool
}

// Send implements [evalsha.Driver]. Redigo sends nothing again by itself.
func (d *driver) Send(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
	return d.do(ctx, cmd.Words())
}

// Load implements [evalsha.Driver]: there is one primary.
func (d *driver) Load(ctx context.Context, script *backend.Script, _ string) error {
	return d.LoadAll(ctx, script)
}

// LoadAll implements [evalsha.Driver].
func (d *driver) LoadAll(ctx context.Context, script *backend.Script) error {
	_, err := d.do(ctx, []string{"SCRIPT", "LOAD", script.Source})
	return err
}

// do sends one command, and returns an error of the classes of [evalsha.Driver]. When ctx ends,
// redigo closes the connection, so nobody takes a late reply for that to another command.
func (d *driver) do(ctx context.Context, words []string) (backend.Reply, error) {
	conn, err := promptly(ctx, func() (redis.Conn, error) { return d.pool.GetContext(ctx) })
	if err != nil {
		return backend.Reply{}, evalsha.NotSent(named(err))
	}
	defer func() { _ = conn.Close() }() // back to the pool
	args := make([]any, len(words)-1)
	for i, word := range words[1:] {
		args[i] = word
	}
	value, err := redis.DoContext(conn, undated{ctx}, words[0], args...)
	var reply redis.Error
	switch {
	case errors.As(err, &reply):
		return backend.Reply{}, backend.ParseServerError(reply.Error())
	case err != nil:
		return backend.Reply{}, err // nobody knows if it ran
	}
	return convert(value)
}

// named adds [backend.ErrClosed] to the error of a closed pool, for which redigo has no variable (R9).
func named(err error) error {
	if err.Error() == "redigo: get on closed pool" {
		return fmt.Errorf("%w: %w", backend.ErrClosed, err)
	}
	return err
}

// undated is a context without its deadline. Redigo would hand that to the socket, whose time-out
// may come before ctx has ended, and does not say which of the two it is (R7).
type undated struct{ context.Context }

func (undated) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// promptly returns what connect returns, or ctx's error as soon as ctx ends: a pool's Dial and
// TestOnBorrow know no context, nor does the handshake of TLS (R7). A connection that comes late is
// closed.
func promptly(
	ctx context.Context, connect func() (redis.Conn, error),
) (redis.Conn, error) {
	type result struct {
		conn redis.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		conn, err := connect()
		select {
		case done <- result{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close()
			}
		}
	}()
	select {
	case r := <-done:
		return r.conn, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// convert returns the reply for what redigo read: a status as string, other strings as bytes.
func convert(value any) (backend.Reply, error) {
	switch v := value.(type) {
	case nil:
		return backend.Reply{}, nil
	case int64:
		return backend.IntegerReply(v), nil
	case string:
		return backend.StringReply(v), nil
	case []byte:
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
	return backend.Reply{}, fmt.Errorf("%w: %T", backend.ErrReply, value)
}
