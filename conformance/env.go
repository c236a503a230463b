package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// validate reports a required field that is missing.
func (h *Harness) validate() error {
	switch {
	case h.New == nil:
		return errors.New("conformance: Harness.New is nil")
	case h.Do == nil:
		return errors.New("conformance: Harness.Do is nil")
	}
	return nil
}

// nodes runs a command on every primary.
func (h *Harness) nodes(ctx context.Context, args ...string) ([]backend.Reply, error) {
	if h.Nodes != nil {
		return h.Nodes(ctx, args...)
	}
	reply, err := h.Do(ctx, "", args...)
	return []backend.Reply{reply}, err
}

// env is what one case works with: names of its own, and instances that end with it.
type env struct {
	*Harness
	tag string

	mu        sync.Mutex
	instances []*Instance
	clients   []*primitives.Client
}

func newEnv(h *Harness) *env { return &env{Harness: h, tag: "conf-" + rand.Text()[:10]} }

// key returns a key or channel of this case. All have one slot.
func (e *env) key(name string) string { return "{" + e.tag + "}:" + name }

// apart returns a key of this case whose slot is, most likely, that of no other.
func (e *env) apart(name string) string { return "{" + e.tag + "-" + name + "}:" + name }

// open makes an instance that ends with the case.
func (e *env) open(ctx context.Context) (*Instance, error) {
	in, err := e.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("making a backend: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instances = append(e.instances, in)
	return in, nil
}

// backend makes a backend that ends with the case.
func (e *env) backend(ctx context.Context) (backend.Backend, error) {
	in, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	return in.Backend, nil
}

func (e *env) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, in := range e.instances {
		if in.Link != nil {
			in.Link.Restore()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience/4)
	defer cancel()
	for _, c := range e.clients {
		_ = c.Close(ctx)
	}
	for _, in := range e.instances {
		in.end()
	}
	e.instances, e.clients = nil, nil
}

// client makes a client of primitives, over a backend of its own, that ends with the case.
func (e *env) client(ctx context.Context, o *primitives.Options) (
	*primitives.Client, *Instance, error,
) {
	return e.clientOver(ctx, o, func(b backend.Backend) backend.Backend { return b })
}

// clientOver makes a client over what wrap makes of an instance's backend.
func (e *env) clientOver(
	ctx context.Context, o *primitives.Options, wrap func(backend.Backend) backend.Backend,
) (*primitives.Client, *Instance, error) {
	in, err := e.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	c, err := primitives.New(wrap(in.Backend), o)
	if err != nil {
		return nil, nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clients = append(e.clients, c)
	return c, in, nil
}

// end ends the backend and its client.
func (in *Instance) end() {
	if in.Link != nil {
		in.Link.Restore()
	}
	_ = in.Backend.Close()
	if in.Close != nil {
		in.Close()
		in.Close = nil
	}
}

// script returns a script that no other case has, so that the server does not know it. Its first
// line is that of source.
func (e *env) script(source string, keys int, retry backend.Retry) *backend.Script {
	return backend.NewScript("conformance", source+"\n-- "+e.tag, keys, retry)
}

// incr is a script that counts its runs in its key.
func (e *env) incr(retry backend.Retry) *backend.Script {
	return e.script("return redis.call('incr', KEYS[1])", 1, retry)
}

// count returns the number at key, which the server knows best.
func (e *env) count(ctx context.Context, key string) (int64, error) {
	reply, err := e.Do(ctx, key, "GET", key)
	if err != nil || reply.IsNil() {
		return 0, err
	}
	return reply.Int()
}

// wantCount returns an error if the number at key is not n.
func (e *env) wantCount(ctx context.Context, key string, n int64) error {
	got, err := e.count(ctx, key)
	if err != nil {
		return err
	}
	if got != n {
		return fmt.Errorf("the script ran %d times, want %d", got, n)
	}
	return nil
}

// subscribers returns how many connections are subscribed to channel, on all nodes.
func (e *env) subscribers(ctx context.Context, channel string) (int64, error) {
	command := "NUMSUB"
	if e.Capabilities.Sharded {
		command = "SHARDNUMSUB"
	}
	replies, err := e.nodes(ctx, "PUBSUB", command, channel)
	var sum int64
	for _, reply := range replies {
		items, tupleErr := reply.Tuple(2)
		if err = errors.Join(err, tupleErr); err != nil {
			return 0, err
		}
		n, intErr := items[1].Int()
		sum, err = sum+n, errors.Join(err, intErr)
	}
	return sum, err
}

// awaitSubscribers waits until n connections are subscribed to channel.
func (e *env) awaitSubscribers(ctx context.Context, channel string, n int64) error {
	return eventually(ctx, fmt.Sprintf("%d subscribers", n), func() (bool, error) {
		got, err := e.subscribers(ctx, channel)
		return got == n, err
	})
}

// publish publishes as the backend expects it.
func (e *env) publish(ctx context.Context, channel, payload string) error {
	_, err := e.Do(ctx, channel, e.Capabilities.Publish(), channel, payload)
	return err
}

// eventually polls until ok, for as long as ctx lasts.
func eventually(ctx context.Context, what string, ok func() (bool, error)) error {
	for {
		done, err := ok()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, errors.Join(ctx.Err(), err))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// promptly returns what f returns, or an error of its own if f takes longer than limit.
func promptly(limit time.Duration, what string, f func() error) (result, late error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case result = <-done:
		return result, nil
	case <-time.After(limit):
		return nil, fmt.Errorf("%s did not return within %v", what, limit)
	}
}

// matching returns the commands that have part in one of their words.
func matching(commands [][]string, part string) (found [][]string) {
	for _, words := range commands {
		if strings.Contains(strings.Join(words, "\x00"), part) {
			found = append(found, words)
		}
	}
	return found
}

// isCommand reports whether words are a command of the given name.
func isCommand(words []string, name string) bool {
	return len(words) > 0 && strings.EqualFold(words[0], name)
}

// runsScript reports whether a command runs a script on the given key.
func runsScript(words []string, key string) bool {
	return len(words) > 3 && strings.HasPrefix(strings.ToUpper(words[0]), "EVAL") && words[3] == key
}
