package rights

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// TestClientKeepsNothing uses an object of each kind many times: alone, while another caller waits, which is granted
// what it waits for or gives up, and with leases that are forgotten, and releases that fail at first. When all calls and
// leases have ended, the client's maps, queues and lists have what they had before the first use.
func TestClientKeepsNothing(t *testing.T) {
	cells.Bubble(t, func(t *testing.T) {
		server := embedded.NewServer()
		b := must.Get(embedded.New(server, nil))
		r, lost := &cells.Runner{Backend: b}, false
		r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			if lost && strings.HasSuffix(c.Script.Name, "_release") {
				return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
			}
			return r.Good(ctx, c)
		}
		c := cells.Over(t, r, nil)
		all := objects(t.Context(), c, "x")
		use := func() {
			for name, o := range all {
				must.Get(server.Do("FLUSHALL")) // All objects have the same name.
				require.NoError(t, act(t.Context(), name, o), name)
				if adder, isAdder := o.(*primitives.LongAdder); isAdder {
					must.Get(adder.Sum(t.Context()))
				}
				if memo, isMemo := o.(*primitives.Memo[int]); isMemo {
					endWithout(t, memo)
				}
				if _, isLocker := lockerOf(o); isLocker {
					play(t.Context(), o, contended, func(step string) { lost = step == "unheard release" })
				}
			}
			must.Get(c.OpenLongAdder(t.Context(), "closed")).Close()
			time.Sleep(time.Hour) // Virtual: forgotten leases end, releases are repeated, pauses of senders end.
			synctest.Wait()
		}
		unused := kept(c, all)
		for range 20 {
			use()
		}
		require.Equal(t, unused, kept(c, all))
		require.Positive(t, unused["map[*primitives.adder]struct {}"], "%v", unused)
	})
}

// endWithout has work end without an answer that others could have.
func endWithout(t *testing.T, memo *primitives.Memo[int]) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	_, ran, err := memo.Do(ctx, "left", func(context.Context, primitives.MemoRun) (int, error) {
		cancel()
		return 0, ctx.Err()
	})
	require.True(t, ran)
	require.ErrorIs(t, err, context.Canceled)
}

// lockerOf returns the object as a lock, if it has leases for which callers wait.
func lockerOf(o object) (locker, bool) {
	if s, ok := o.(*primitives.CountingSemaphore); ok {
		return slot{s}, true
	}
	l, ok := o.(locker)
	return l, ok
}

// contended is a story of a lock. One waiter gives up, and another one gets the lock. Then the holder forgets a lease, and
// repeats the release of another.
const contended = "Lock; hurry Do; go Do; wait 15s; release; wait 1s; Lock; forget; wait 1m; Lock; unheard release; wait 1m"

// kept counts what can be reached from the values: per type the values behind pointers, the entries of maps, and the
// elements of slices up to their capacity. It looks into the types of primitives and its packages, and into contexts.
func kept(values ...any) map[string]int {
	k := keeper{counts: map[string]int{}, seen: map[place]bool{}}
	for _, v := range values {
		k.visit(reflect.ValueOf(v))
	}
	return k.counts
}

type place struct {
	at   unsafe.Pointer
	kind reflect.Type
}

type keeper struct {
	counts map[string]int
	seen   map[place]bool
}

func (k *keeper) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map:
		at := place{v.UnsafePointer(), v.Type()}
		if v.IsNil() || k.seen[at] || v.Kind() == reflect.Pointer && !ours(v.Type().Elem()) {
			return
		}
		k.seen[at] = true
		k.enter(v)
	case reflect.Interface:
		k.visit(v.Elem())
	case reflect.Struct:
		for i := 0; ours(v.Type()) && i < v.NumField(); i++ {
			k.visit(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Cap() {
			if e := v.Slice(0, v.Cap()).Index(i); !e.IsZero() && e.Kind() >= reflect.Array {
				k.counts[v.Type().String()]++
				k.visit(e)
			}
		}
	}
}

// enter counts and visits what is behind a pointer or in a map.
func (k *keeper) enter(v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		k.counts[v.Type().String()]++
		k.visit(v.Elem())
		return
	}
	if v.Len() > 0 {
		k.counts[v.Type().String()] += v.Len()
	}
	for entries := v.MapRange(); entries.Next(); {
		k.visit(entries.Key())
		k.visit(entries.Value())
	}
}

// ours reports whether a type is of primitives or its packages, or of context, or has no name.
func ours(t reflect.Type) bool {
	return t.PkgPath() == "" || t.PkgPath() == "context" || strings.HasPrefix(t.PkgPath(), reflect.TypeFor[primitives.Client]().PkgPath())
}
