package conformance_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/exclusive"
	"github.com/hasp-go/hasp/conformance/fairlock"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/conformance/semaphore"
	"github.com/hasp-go/hasp/primitives"
)

type (
	counts = engine.Primitive[semaphore.Permits, semaphore.In, semaphore.Out]
	leased = engine.Primitive[lock.Held, lock.In, lock.Out]
	queues = engine.Primitive[fairlock.Fair, lock.In, lock.Out]
)

// row is a way to break a declaration, and what says so.
type row[P any] struct {
	want  string
	wrong func(p *P)
}

// refuses breaks a right declaration in one way each.
func refuses[S, I, O comparable](t *testing.T, of engine.Subject, rows []row[engine.Primitive[S, I, O]]) {
	t.Helper()
	require.NoError(t, of.Validate())
	for _, r := range rows {
		p := *of.(*engine.Primitive[S, I, O])
		p.Ops, p.Hold, p.Takes, p.Queue = slices.Clone(p.Ops), clone(p.Hold), clone(p.Takes), clone(p.Queue)
		r.wrong(&p)
		require.ErrorContains(t, p.Validate(), r.want)
	}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// stores declares that some are the keys of each object, or none if there is no object.
func stores(some, none []engine.Key) func(p *counts) {
	return func(p *counts) {
		p.Stored = func(_ string, s engine.State[semaphore.Permits]) []engine.Key {
			if s.Kind == engine.Absent {
				return none
			}
			return some
		}
	}
}

func waits[S, I, O comparable](op engine.Op[S, I, O]) bool { return op.Waits }

func acquire(context.Context, *primitives.Client, string, semaphore.In) (*primitives.Lease, error) {
	return nil, nil
}

// TestValidateRefuses breaks right declarations in one way each.
func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	var unset []row[counts]
	for field := range strings.FieldsSeq("Name Limit Step Verb Asks Answers Stored Ops") {
		unset = append(unset, row[counts]{field + " is not set", func(p *counts) { reflect.ValueOf(p).Elem().FieldByName(field).SetZero() }})
	}
	refuses(t, semaphore.Primitive, unset)
	soon, text := time.Unix(1, 0), engine.Key{Name: "key", Text: "1"}
	empty, two := []engine.Key{{Name: "key"}}, []engine.Key{text, {Name: "another", Text: "1"}}
	refuses(t, semaphore.Primitive, []row[counts]{
		{`Promises has no "Semaphore.Limit"`, func(p *counts) { p.Promises = nil }},
		{"Some does not exist", func(p *counts) { p.Some = engine.State[semaphore.Permits]{} }},
		{"Channel and Published", func(p *counts) { p.Published = nil }},
		{"Channel and Published", func(p *counts) { p.Channel = nil }},
		{"Ready needs Channel or Retry", func(p *counts) { p.Channel, p.Published = nil, nil }},
		{"Unseen needs Doubt", func(p *counts) { p.Doubt = nil }},
		{"own key first", stores(nil, nil)},
		{"as many keys", stores(two, empty)},
		{"own key first", stores(two[1:], empty)},
		{"a value for Some", stores(empty, empty)},
		{"a value for Some", stores(two[:1], two[:1])},
		{"not several", stores([]engine.Key{{Name: "key", Text: "1", Fields: map[string]string{"field": "1"}}}, empty)},
		{"Text, Fields or Set for the object's own key", stores([]engine.Key{{Name: "key", List: []string{"1"}}}, empty)},
		{"the object's own key has Ends", stores([]engine.Key{{Name: "key", Text: "1", Ends: soon}}, empty)},
		{"key another has Life and Ends", stores([]engine.Key{text, {Name: "another", Text: "1", Life: time.Hour, Ends: soon}}, empty)},
		{"Queue needs Hold", func(p *counts) { p.Queue = &engine.Queue[semaphore.Permits, semaphore.In]{} }},
		{"Hold and Takes exclude each other", func(p *counts) {
			p.Hold, p.Doubt, p.Unseen = &engine.Hold[semaphore.Permits, semaphore.In, semaphore.Out]{}, nil, nil
		}},
		{"Takes.Back is not set", func(p *counts) { p.Takes.Back = nil }},
		{"Takes.Back: no operation asks for", func(p *counts) {
			p.Takes.Back = func(int64, bool) semaphore.In { return semaphore.In{Op: "put"} }
		}},
		{"Waits needs Ready", func(p *counts) { p.Ready = nil }},
		{"Tries needs Granted", func(p *counts) { p.Granted = nil }},
		{"Blocks, Frees and Retry need Ready", func(p *counts) { p.Ready, p.Ops = nil, slices.DeleteFunc(p.Ops, waits) }},
		{"Ready needs an operation that Waits", func(p *counts) { p.Ops = slices.DeleteFunc(p.Ops, waits) }},
		{"Blocks is not set", func(p *counts) { p.Blocks = nil }},
		{"Frees is not set", func(p *counts) { p.Frees = nil }},
		{"Peer is not set", func(p *counts) { p.Peer = nil }},
		{"Blocks: no operation asks for", func(p *counts) {
			p.Blocks = func(engine.State[semaphore.Permits]) (semaphore.In, bool) { return semaphore.In{Op: "shut"}, true }
		}},
		{"Frees: no operation asks for", func(p *counts) {
			p.Frees = func(engine.State[semaphore.Permits]) (semaphore.In, bool) { return semaphore.In{Op: "shut"}, true }
		}},
		{"Ops: : Name is not set", func(p *counts) { p.Ops[0].Name = "" }},
		{"Ops: TryAcquire: Generate is not set", func(p *counts) { p.Ops[0].Generate = nil }},
		{"Ops: TryAcquire: the Name is taken", func(p *counts) { p.Ops[1].Name = "TryAcquire" }},
		{"Ops: Close: the Name is taken", func(p *counts) { p.Ops[0].Name = "Close" }},
		{"Ops: TryAcquire: Weight is negative", func(p *counts) { p.Ops[0].Weight = -1 }},
		{"Ops: TryAcquire: needs Call or Acquire", func(p *counts) { p.Ops[0].Call = nil }},
		{"Ops: TryAcquire: needs Call or Acquire", func(p *counts) { p.Ops[0].Acquire = acquire }},
		{"Acquire needs Hold", func(p *counts) { p.Ops[0].Call, p.Ops[0].Acquire = nil, acquire }},
		{"Waits and Tries exclude each other", func(p *counts) { p.Ops[0].Waits = true }},
		{"histories need an operation", func(p *counts) {
			for i := range p.Ops {
				p.Ops[i].Weight = 0
			}
		}},
	})
	refuses(t, exclusive.Lock, []row[leased]{
		{"Doubt is not for", func(p *leased) { p.Doubt = func(held lock.Held, _ lock.In, _ bool) lock.Held { return held } }},
		{"Hold needs Ready", func(p *leased) { p.Ready = nil }},
		{"Hold.Done is not set", func(p *leased) { p.Hold.Done = nil }},
		{"Hold.Granted is not set", func(p *leased) { p.Hold.Granted = nil }},
		{"Hold.Apart is for", func(p *leased) {
			p.Hold.Awaits = func(lock.Out) lock.In { return lock.In{} }
			p.Hold.Apart = func(_ lock.In, _ string, inner lock.In) (awaits lock.In, apart bool, refused error) {
				return inner, false, nil
			}
		}},
		{"Back is for", func(p *leased) {
			p.Ops[slices.IndexFunc(p.Ops, waits)].Back = func(in lock.In, _ lock.Out) (lock.In, bool) { return in, false }
		}},
		{"the first that Waits needs Acquire", func(p *leased) {
			op := &p.Ops[slices.IndexFunc(p.Ops, waits)]
			op.Acquire, op.Call = nil, func(context.Context, *primitives.Client, string, lock.In) (out lock.Out, err error) { return out, nil }
		}},
		{"Blocks needs an operation with Acquire", func(p *leased) {
			op := p.Ops[slices.IndexFunc(p.Ops, func(op engine.Op[lock.Held, lock.In, lock.Out]) bool { return op.Acquire == nil })]
			p.Blocks = func(engine.State[lock.Held]) (lock.In, bool) { return op.Generate(engine.Params[lock.Held]{}), true }
		}},
	})
	refuses(t, fairlock.Primitive, []row[queues]{
		{"Queue.Key is no List or Set", func(p *queues) { p.Queue.Key = func(key string) string { return key } }},
		{"Queue.Waiting is not set", func(p *queues) { p.Queue.Waiting = nil }},
		{"Queue.Message is not set", func(p *queues) { p.Queue.Message = "" }},
		{"Queue needs Hold", func(p *queues) { p.Channel, p.Published, p.Retry = nil, nil, time.Second }},
	})
}

func TestDeclarationsAreValid(t *testing.T) {
	t.Parallel()
	for _, p := range conformance.Primitives() {
		require.NoError(t, p.Validate())
	}
}

func TestEveryCaseHasAClause(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range conformance.Cases() {
		require.NotEmpty(t, c.Text, c.Name)
		require.False(t, names[c.Name], "two cases are named %s", c.Name)
		names[c.Name] = true
	}
}
