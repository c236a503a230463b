package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
)

// Env is what one case works with: names of its own, and instances that end with it. Methods that
// return no error fail by package must. It is safe for concurrent use.
type Env struct {
	*Harness

	// Tag is a part of all names of the case, and of no other's.
	Tag string

	mu        sync.Mutex
	instances []*Instance
	ends      []func(context.Context)
}

// NewEnv returns an Env with a tag of its own.
func NewEnv(h *Harness) *Env { return &Env{Harness: h, Tag: "conf-" + rand.Text()[:10]} }

// Key returns a key or channel of this case. All have one slot.
func (e *Env) Key(name string) string { return "{" + e.Tag + "}:" + name }

// Apart returns a key of this case whose slot is, most likely, that of no other.
func (e *Env) Apart(name string) string { return "{" + e.Tag + "-" + name + "}:" + name }

// Slots returns two keys of different slots.
func (e *Env) Slots() []string {
	keys := []string{e.Tag + ":0", ""}
	for i := 1; keys[1] == "" || backend.Slot(keys[0]) == backend.Slot(keys[1]); i++ {
		keys[1] = fmt.Sprintf("%s:%d", e.Tag, i)
	}
	return keys
}

// Open makes an instance that ends with the case.
func (e *Env) Open(ctx context.Context) *Instance {
	in, err := e.New(ctx)
	if err != nil {
		must.Fail("making a backend: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instances = append(e.instances, in)
	return in
}

// Backend makes a backend that ends with the case.
func (e *Env) Backend(ctx context.Context) backend.Backend { return e.Open(ctx).Backend }

// AtEnd has end called at the end of the case, before the instances end.
func (e *Env) AtEnd(end func(ctx context.Context)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ends = append(e.ends, end)
}

// Close ends all that was made.
func (e *Env) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, in := range e.instances {
		if in.Link != nil {
			in.Link.Restore()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience/4)
	defer cancel()
	for _, end := range e.ends {
		end(ctx)
	}
	for _, in := range e.instances {
		in.End()
	}
	e.instances, e.ends = nil, nil
}

// Script returns a script that no other case has, so the server does not know it. Its first
// line is the first line of source.
func (e *Env) Script(source string, keys int, retry backend.Retry) *backend.Script {
	return backend.NewScript("conformance", source+"\n-- "+e.Tag, keys, retry)
}

// Incr is a script that counts its runs in its key.
func (e *Env) Incr(retry backend.Retry) *backend.Script {
	return e.Script("return redis.call('incr', KEYS[1])", 1, retry)
}

// Command runs a command whose first argument is a key, on the server.
func (e *Env) Command(ctx context.Context, args ...string) backend.Reply {
	return must.Get(e.Do(ctx, args[1], args...))
}

// Count returns the number at key, which the server knows best.
func (e *Env) Count(ctx context.Context, key string) int64 {
	reply := e.Command(ctx, "GET", key)
	if reply.IsNil() {
		return 0
	}
	return must.Get(reply.Int())
}

// WantCount fails if the number at key, of a script's runs, is not n.
func (e *Env) WantCount(ctx context.Context, key string, n int64) {
	got := e.Count(ctx, key)
	must.Not(got != n, "the script ran %d times, want %d", got, n)
}

// WantText fails if key does not hold the text; "" means that it does not exist.
func (e *Env) WantText(ctx context.Context, key, text string) {
	want := backend.StringReply(text)
	if text == "" {
		want = backend.Reply{}
	}
	got := e.Command(ctx, "GET", key)
	must.Not(!Same(got, want), "key %s is %v, want %q", key, got, text)
}

// Subscribers returns how many connections are subscribed to channel, on all nodes.
func (e *Env) Subscribers(ctx context.Context, channel string) (sum int64) {
	command := "NUMSUB"
	if e.Capabilities.Sharded {
		command = "SHARDNUMSUB"
	}
	for _, reply := range must.Get(e.Primaries(ctx, "PUBSUB", command, channel)) {
		sum += must.Get(must.Get(reply.Tuple(2))[1].Int())
	}
	return sum
}

// AwaitSubscribers waits until n connections are subscribed to channel.
func (e *Env) AwaitSubscribers(ctx context.Context, channel string, n int64) {
	Eventually(ctx, fmt.Sprintf("%d subscribers", n), func() bool { return e.Subscribers(ctx, channel) == n })
}

// Publish publishes as the backend expects it.
func (e *Env) Publish(ctx context.Context, channel, payload string) {
	must.Get(e.Do(ctx, channel, e.Capabilities.Publish(), channel, payload))
}

// Eventually polls until ok returns true, for as long as ctx lasts. In ok a failure means not yet.
func Eventually(ctx context.Context, what string, ok func() bool) {
	for {
		done := false
		err := must.Catch(func() { done = ok() })
		if done {
			return
		}
		select {
		case <-ctx.Done():
			must.Fail("waiting for %s: %w", what, errors.Join(context.Cause(ctx), err))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Await waits until happened is closed or gets something, and fails if ctx ends before.
func Await[T any](ctx context.Context, what string, happened <-chan T) T {
	select {
	case got := <-happened:
		return got
	case <-ctx.Done():
		must.Fail("waiting for %s: %w", what, ctx.Err())
		panic("unreachable")
	}
}

// Promptly returns what call returns, and fails if that takes longer than limit.
func Promptly(limit time.Duration, what string, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		must.Fail("%s did not return within %v", what, limit)
		return nil
	}
}

// Finish waits for what runs with the case, for far less than a poll would need, and fails with it.
func Finish(what string, done <-chan error) {
	must.In(what, func() { must.Do(Promptly(Patience/4, "it", func() error { return <-done })) })
}

// NotYet fails if what runs with the case ends, for which it has a moment.
func NotYet(what string, done <-chan error) {
	select {
	case err := <-done:
		must.Fail("%s ended too early, with %w", what, err)
	case <-time.After(100 * time.Millisecond):
	}
}

// Matching returns the commands that have part in one of their words.
func Matching(commands [][]string, part string) (found [][]string) {
	for _, words := range commands {
		if strings.Contains(strings.Join(words, "\x00"), part) {
			found = append(found, words)
		}
	}
	return found
}

// IsCommand reports whether words are a command of the given name.
func IsCommand(words []string, name string) bool {
	return len(words) > 0 && strings.EqualFold(words[0], name)
}

// RunsScript reports whether a command runs a script on the given key.
func RunsScript(words []string, key string) bool {
	return len(words) > 3 && strings.HasPrefix(strings.ToUpper(words[0]), "EVAL") && words[3] == key
}

// Same compares replies; an empty array may have any representation.
func Same(a, b backend.Reply) bool {
	if a.Kind() != b.Kind() || a.Kind() != backend.KindArray {
		return reflect.DeepEqual(a, b)
	}
	as, _ := a.Items()
	bs, _ := b.Items()
	return slices.EqualFunc(as, bs, Same)
}

// Inbox collects the events of one subscription. It is safe for concurrent use; the zero value is empty.
type Inbox struct {
	mu     sync.Mutex
	events []backend.Event
}

// Handle is the subscription's handler.
func (b *Inbox) Handle(event backend.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event)
}

// Events returns the events so far.
func (b *Inbox) Events() []backend.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events)
}

// Await waits until ok is true for the events so far, and returns them.
func (b *Inbox) Await(ctx context.Context, what string, ok func([]backend.Event) bool) (got []backend.Event) {
	Eventually(ctx, what, func() bool {
		got = b.Events()
		must.Not(!ok(got), "got %.20q", got)
		return true
	})
	return got
}

// AwaitMessage waits for a message.
func (b *Inbox) AwaitMessage(ctx context.Context, payload string) {
	b.Await(ctx, fmt.Sprintf("message %.20q", payload), func(got []backend.Event) bool {
		return slices.Contains(got, backend.Event{Payload: payload})
	})
}

// IsGap reports whether an event says that messages may be missing.
func IsGap(event backend.Event) bool { return event.Kind == backend.EventResubscribed }

// Listen subscribes a new inbox to channel, and waits until the server knows: that Subscribe does
// so itself is another case.
func (e *Env) Listen(ctx context.Context, b backend.Subscriber, channel string) (*Inbox, backend.Subscription) {
	box := &Inbox{}
	sub, err := b.Subscribe(ctx, channel, box.Handle)
	if err != nil {
		must.Fail("subscribing to %q: %w", channel, err)
	}
	Eventually(ctx, "the server to subscribe", func() bool { return e.Subscribers(ctx, channel) > 0 })
	return box, sub
}
