package primitives_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// repeater runs scripts that are declared as safe to repeat twice, and looks at what those change that only read.
type repeater struct {
	*server
	seen   map[string]bool
	broken []string // declarations that do not hold
}

func (r *repeater) run(script *backend.Script, keys, args []string) (backend.Reply, error) {
	run := func() (string, backend.Reply, error) {
		reply, err := r.link.Run(context.Background(), script, keys, args)
		return fmt.Sprint(reply, err, "\n", r.state()), reply, err
	}
	before := r.state()
	after, reply, err := run()
	r.seen[script.Name] = true
	switch script.Retry {
	case backend.RetryReadOnly:
		if !strings.HasSuffix(after, before) {
			r.broken = append(r.broken, fmt.Sprintf("%s reads, but %s has become %s", script.Name, before, after))
		}
	case backend.RetryRepeatable:
		if again, _, _ := run(); after != again {
			r.broken = append(r.broken, fmt.Sprintf("%s may be repeated, but %s has become %s", script.Name, after, again))
		}
	}
	return reply, err
}

// state returns all that the server stores.
func (r *repeater) state() (all string) {
	keys := r.do("KEYS", "*")
	slices.Sort(keys)
	read := map[string][]string{
		"string": {"GET"}, "hash": {"HGETALL"}, "list": {"LRANGE", "0", "-1"}, "set": {"SMEMBERS"}, "zset": {"ZRANGE", "0", "-1", "WITHSCORES"},
	}
	for _, key := range keys {
		kind := first(r.do("TYPE", key))
		values := r.do(slices.Insert(slices.Clone(read[kind]), 1, key)...)
		if kind == "hash" || kind == "set" {
			slices.Sort(values)
		}
		all += fmt.Sprintln(key, r.do("PTTL", key), values)
	}
	return all
}

// TestRepeatableScripts uses each kind of object, and each of its methods that only asks. It fails if they do not run
// all scripts that are declared as safe to repeat or as read-only.
func TestRepeatableScripts(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		r := &repeater{server: s, seen: map[string]bool{}}
		s.run = r.run
		c := s.client(t, nil)
		for _, kind := range slices.Sorted(maps.Keys(constructed(t))) {
			object, _ := construct(t, c, kind, "")
			ask(t, object)
			hold(t, object, func(*primitives.Lease) {
				time.Sleep(25 * time.Second) // two renewals
				ask(t, object)
			})
		}
		askTheRest(t, c)
		require.Empty(t, r.broken)
		for name := range declaredRepeatable(t) {
			if !r.seen[name] {
				t.Errorf("no call runs %s", name)
			}
		}
	})
}

// ask calls the methods of an object that take nothing but a context, and do not wait.
func ask(t *testing.T, object any) {
	t.Helper()
	if rw, is := object.(*primitives.ReadWriteLock); is {
		ask(t, rw.ReadLock())
		ask(t, rw.WriteLock())
	}
	waiting := regexp.MustCompile(`^(Lock$|Acquire|TryLock|TryAcquire|Wait|Observe|Close|ForceUnlock|Delete|Release|.*CountDown|Reset|Drain)`)
	of := reflect.ValueOf(object)
	for i := range of.NumMethod() {
		name, method := of.Type().Method(i).Name, of.Method(i)
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		if method.Type().NumIn() == 2 { // an owner
			args = append(args, reflect.ValueOf(another))
		}
		if takes(method.Type(), args) && !waiting.MatchString(name) {
			method.Call(args)
		}
	}
}

// askTheRest asks what takes other arguments.
func askTheRest(t *testing.T, c *primitives.Client) {
	t.Helper()
	ctx := t.Context()
	hold(t, c.NewReadWriteLock("rw", nil).ReadLock(), func(*primitives.Lease) { time.Sleep(15 * time.Second) })
	permits := c.NewPermitSemaphore("permits", &primitives.PermitSemaphoreOptions{Permits: 1})
	_ = must(permits.Remaining(ctx, permits.IDs(must(permits.TryAcquire(ctx, 1))(t))[0]))(t)
	latch := c.NewPartsLatch("latch")
	require.True(t, must(latch.Init(ctx, 1, time.Hour))(t))
	require.Error(t, latch.Wait(within(t, 7*time.Second)))
	require.True(t, must(c.NewCountDownLatch("set").InitCount(ctx, 1))(t))
	require.Error(t, c.NewCountDownLatch("set").Wait(within(t, 7*time.Second)))
	require.Error(t, c.NewCountDownLatch("unset").WaitUntilSet(within(t, 7*time.Second)))
	throttle := c.NewThrottle("throttle", primitives.Limit{Permits: 1, Interval: time.Hour}, refuse)
	require.True(t, must(throttle.Allow(ctx, 1))(t).Allowed)
	require.Zero(t, must(throttle.State(ctx))(t).Remaining)
	require.NotEmpty(t, must(inspect.Describe(ctx, c, "latch"))(t))
}

// takes reports whether a method takes these arguments.
func takes(method reflect.Type, args []reflect.Value) bool {
	if method.NumIn() != len(args) || method.IsVariadic() {
		return false
	}
	for i, arg := range args {
		if !arg.Type().AssignableTo(method.In(i)) {
			return false
		}
	}
	return true
}

// declaredRepeatable returns the names of the scripts that are declared so.
func declaredRepeatable(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range must(filepath.Glob("../../primitives/internal/script/*.lua"))(t) {
		if regexp.MustCompile(`(?m)^---@(retry safe|readonly)$`).Match(must(os.ReadFile(file))(t)) {
			names[strings.TrimSuffix(filepath.Base(file), ".lua")] = true
		}
	}
	require.NotEmpty(t, names)
	return names
}
