package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// Subject is a declared primitive, whatever its types are.
type Subject interface {
	// String returns the name.
	String() string

	// Validate returns an error that names the field if the declaration lacks something, or contradicts
	// itself. The other methods need one that does not.
	Validate() error

	// Properties drives the primitive by one action after the other, next to an exact model.
	Properties(t *testing.T, h *harness.Harness, reached *Coverage)

	// Histories draws schedules, runs them on several clients at once, and checks that the model of the
	// primitive explains what they saw, and that nobody waited for something that was there.
	Histories(t *testing.T, h *harness.Harness, reached *Coverage)

	// Cases are what follows from the declaration for a backend, and the special cases.
	Cases() []harness.Case

	// FaultCases are a case for each fault.
	FaultCases() []harness.Case

	workload() *workload
}

// Coverage counts what tests got into. It is safe for concurrent use.
type Coverage struct {
	mu     sync.Mutex
	counts map[string]int
}

func (s *Coverage) add(situation string) { s.addN(situation, 1) }

// either returns the situation yes if is, and no if not.
func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// require fails a test that has not failed yet if it did not get into one of some situations: what was
// never granted, say, shows nothing.
func (s *Coverage) require(t *testing.T, names []string) {
	t.Helper()
	counts := s.copy()
	for _, name := range names {
		if counts[name] == 0 && !t.Failed() {
			t.Errorf("no %s in all that", name)
		}
	}
}

func (s *Coverage) addN(situation string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.counts[situation] += n
}

// String lists the counts by name.
func (s *Coverage) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.counts[name], name))
	}
	return strings.Join(parts, ", ")
}

func (s *Coverage) copy() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// Validate implements [Subject]: it refuses declarations with which tests would panic, or show nothing.
func (p *Primitive[S, I, O]) Validate() error {
	return must.Catch(func() {
		must.In("the declaration of "+p.Name, func() {
			p.validateObject()
			p.validateHold()
			for i := range p.Ops {
				must.In("Ops: "+p.Ops[i].Name, func() { p.validateOp(&p.Ops[i]) })
			}
			p.validateWaiting()
			must.Not(len(p.workload().ops) == 0, "Ops: histories need an operation with a Weight and without ExcludeFromHistory")
		})
	})
}

// needs fails if one of some fields of a struct is not set.
func needs(of any, prefix string, fields ...string) {
	for _, name := range fields {
		must.Not(reflect.ValueOf(of).FieldByName(name).IsZero(), "%s%s is not set", prefix, name)
	}
}

func (p *Primitive[S, I, O]) validateObject() {
	needs(*p, "", "Name", "Limit", "Step", "Verb", "Asks", "Answers", "Stored", "Ops")
	must.Not(p.Promises[p.Limit] == "", "Promises has no %q, which Limit names", p.Limit)
	must.Not(p.Some.Kind != Present, "Some does not exist")
	must.Not((p.Channel == nil) != (p.Published == nil), "Channel and Published need each other")
	must.Not(p.Unseen != nil && p.Doubt == nil, "Unseen needs Doubt")
	must.Not(p.Doubt != nil && p.hasLeases(), "Doubt is not for what has leases")
	const name = "key"
	none, some := p.Stored(name, State[S]{}), p.Stored(name, p.Some)
	must.Not(len(lasting(none)) != len(lasting(some)) || len(none) == 0 || none[0].Name != some[0].Name ||
		!strings.Contains(none[0].Name, name),
		"Stored needs the object's own key first, and as many keys without Ends if there is no object")
	must.Not(some[0].empty() || !none[0].empty(), "Stored needs a value for Some, and none if there is no object")
	must.Not(some[0].List != nil, "Stored needs Text, Fields or Set for the object's own key")
	for _, key := range some {
		must.Not(key.kinds() > 1, "Stored needs Text, Fields, List or Set, not several")
	}
}

// lasting returns those of keys that have no expiry of their own. The life of the first is its object's.
func lasting(keys []Key) []Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k Key) bool {
		must.Not(k.Name == keys[0].Name && !k.Ends.IsZero(), "Stored: the object's own key has Ends, which its State says")
		must.Not(k.Life > 0 && !k.Ends.IsZero(), "Stored: key %s has Life and Ends", k.Name)
		return !k.Ends.IsZero()
	})
}

// empty reports whether there is no such key.
func (k Key) empty() bool { return k.Text == "" && len(k.Fields)+len(k.List)+len(k.Set) == 0 }

// kinds returns how many kinds of a key k is.
func (k Key) kinds() (n int) {
	for _, is := range []bool{k.Text != "", k.Fields != nil, k.List != nil, k.Set != nil} {
		if is {
			n++
		}
	}
	return n
}

func (p *Primitive[S, I, O]) validateHold() {
	must.Not(p.Hold != nil && p.Takes != nil, "Hold and Takes exclude each other")
	if p.Hold != nil {
		must.Not(p.Ready == nil, "Hold needs Ready")
		needs(*p.Hold, "Hold.", "Of", "Fixed", "Holders", "Grant", "Release", "Done")
		must.Not(p.hasLeases() && p.Hold.Granted == nil, "Hold.Granted is not set")
		must.Not(!p.hasLeases() && p.Hold.Apart != nil, "Hold.Apart is for what callers get leases of")
	}
	if p.Takes != nil {
		needs(*p.Takes, "Takes.", "Count", "Took", "Puts", "Back")
	}
	if p.Passes != nil {
		must.Not(p.Queue == nil, "Passes needs Queue")
		needs(*p.Passes, "Passes.", "Worth", "Group", "Signs", "Read")
	}
	if p.Queue != nil {
		must.Not(!p.hasLeases() || p.Channel == nil, "Queue needs Hold, without Awaits, and Channel")
		needs(*p.Queue, "Queue.", "Key", "Waiting")
		if p.Passes == nil {
			needs(*p.Queue, "Queue.", "Place", "Message")
		}
		must.Not(!slices.ContainsFunc(p.Stored("key", p.Some), func(k Key) bool {
			return (k.List != nil || k.Set != nil) && k.Name == p.Queue.Key("key")
		}), "Queue.Key is no List or Set that is Stored")
	}
}

func (p *Primitive[S, I, O]) validateOp(op *Op[S, I, O]) {
	needs(*op, "", "Name", "Generate")
	must.Not(p.opNamed(op.Name) != op || slices.Contains(commonActs, op.Name), "the Name is taken")
	must.Not(op.Weight < 0, "Weight is negative")
	must.Not((op.Call == nil) == (op.Acquire == nil), "needs Call or Acquire, not both")
	must.Not(op.Acquire != nil && !p.hasLeases(), "Acquire needs Hold, without Awaits")
	must.Not(op.Acquire != nil && op.Back != nil, "Back is for what has no lease")
	must.Not(op.Waits && op.Tries, "Waits and Tries exclude each other")
	must.Not(op.Waits && p.Ready == nil, "Waits needs Ready")
	must.Not(op.Tries && p.Granted == nil, "Tries needs Granted")
}

// validateWaiting follows validateOp.
func (p *Primitive[S, I, O]) validateWaiting() {
	if p.Takes != nil {
		must.In("Takes.Back", func() { p.opFor(p.Takes.Back(1, true)) })
	}
	if p.Ready == nil {
		must.Not(p.Blocks != nil || p.Frees != nil || p.Retry != 0, "Blocks, Frees and Retry need Ready")
		return
	}
	needs(*p, "", "Blocks", "Frees", "Granted", "Peer")
	must.Not(p.Channel == nil && p.Retry == 0, "Ready needs Channel or Retry")
	must.Not(!slices.ContainsFunc(p.Ops, func(op Op[S, I, O]) bool { return op.Waits }), "Ready needs an operation that Waits")
	in, blocks := p.Blocks(State[S]{})
	if p.hasLeases() {
		must.Not(p.waitingOp().Acquire == nil, "Ops: %s: the first that Waits needs Acquire", p.waitingOp().Name)
		must.Not(!blocks || p.opFor(in).Acquire == nil, "Blocks needs an operation with Acquire, if there is no object")
		return
	}
	if blocks {
		must.In("Blocks", func() { p.opFor(in) })
	}
	in, _ = p.Frees(State[S]{})
	must.In("Frees", func() { p.opFor(in) })
}
