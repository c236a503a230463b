package primitives

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/backend"
)

// adderGroups are the groups of all open adders of this process. It is what clients share that know
// nothing of each other: over one backend they have one connection for messages (clause S3), so that a
// request to all counts them as one, and one of them must answer for all. It has nothing when no adder is
// open.
var adderGroups adderRegistry

// adderRegistry has a group for each name over each backend. Its mutex guards the groups, too.
type adderRegistry struct {
	mu     sync.Mutex
	groups map[adderGroupKey]*adderGroup
}

type adderGroupKey struct {
	backend backend.Backend
	topic   string
}

// adderGroup is all open adders of one name over one backend. It hears a request once, and answers it once.
type adderGroup struct {
	key    adderGroupKey
	double bool
	turn   chan struct{} // has a value while one of them subscribes

	// The registry's mutex guards these.
	members      map[*adder]struct{}
	subscription backend.Subscription // nil: it was not acknowledged yet
	requests     map[string]bool      // of members, under way: whether it came back to the group
}

// join makes a a member of its group.
func (r *adderRegistry) join(a *adder) error {
	b := a.base.Core().Backend()
	if !reflect.ValueOf(b).Comparable() {
		return fmt.Errorf("%w: backends of type %T cannot be compared, which adders need: use a pointer",
			backend.ErrNotSupported, b)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := adderGroupKey{b, a.topic}
	g := r.groups[key]
	switch {
	case g == nil:
		g = r.newGroup(key, a.double)
	case g.double != a.double:
		return fmt.Errorf("%w: this process has an adder of the other kind under that name", ErrConflict)
	}
	g.members[a] = struct{}{}
	a.group = g
	return nil
}

// newGroup makes a group. The caller holds the mutex.
func (r *adderRegistry) newGroup(key adderGroupKey, double bool) *adderGroup {
	if r.groups == nil {
		r.groups = make(map[adderGroupKey]*adderGroup)
	}
	g := &adderGroup{
		key: key, double: double, turn: make(chan struct{}, 1),
		members: make(map[*adder]struct{}), requests: make(map[string]bool),
	}
	r.groups[key] = g
	return g
}

// leave takes a out of the group. The last one ends the subscription.
func (g *adderGroup) leave(a *adder) {
	adderGroups.mu.Lock()
	delete(g.members, a)
	var unused backend.Subscription
	if len(g.members) == 0 && adderGroups.groups[g.key] == g {
		delete(adderGroups.groups, g.key)
		unused = g.subscription
	}
	adderGroups.mu.Unlock()
	if unused != nil {
		unused.Cancel()
	}
}

// subscribe returns when the group's subscription is acknowledged. One of those who wait for that
// subscribes at a time: if it leaves, the next one does.
func (g *adderGroup) subscribe(ctx context.Context, b backend.Subscriber) error {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if g.subscribed() {
		return ctx.Err()
	}
	s, err := b.Subscribe(ctx, g.key.topic, g.handle)
	if err == nil && !g.keep(s) {
		s.Cancel()
		err = ErrClosed
	}
	return err
}

func (g *adderGroup) subscribed() bool {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	return g.subscription != nil
}

// keep keeps the subscription. It reports false if all members have left meanwhile.
func (g *adderGroup) keep(s backend.Subscription) bool {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	if len(g.members) == 0 {
		return false
	}
	g.subscription = s
	return true
}

// handle answers a request, by one of the group's members. After a gap there is nothing to do: nobody
// knows the requests that were missed.
func (g *adderGroup) handle(event backend.Event) {
	what, id, ok := strings.Cut(event.Payload, ":")
	if event.Kind != backend.Message || !ok || what != adderSum && what != adderReset {
		return
	}
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	if _, ours := g.requests[id]; ours {
		g.requests[id] = true
	}
	sum := g.apply(what)
	for a := range g.members {
		// Within the mutex: a client that closes has no members any more, and waits for this.
		if what == adderReset {
			a.answer(id, nil)
		} else {
			a.answer(id, &sum)
		}
		return
	}
}

// serve does what a request asks for, without an answer, and returns what was counted, if it asks for that.
func (g *adderGroup) serve(what string) counted {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	return g.apply(what)
}

// apply is serve for a caller who holds the mutex. A double that is no number cannot be sent: it becomes
// one that is beyond the range.
func (g *adderGroup) apply(what string) (sum counted) {
	for a := range g.members {
		if what == adderReset {
			a.forget()
			continue
		}
		c := a.count()
		sum.long += c.long
		sum.double += c.double
	}
	if math.IsNaN(sum.double) {
		sum.double = math.Inf(1)
	}
	return sum
}

// expect makes the group look out for a member's request.
func (g *adderGroup) expect(id string) {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	g.requests[id] = false
}

// heard reports whether a member's request came back to the group, which has answered it then. Otherwise
// the group was not asked: its link is being restored.
func (g *adderGroup) heard(id string) bool {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	return g.requests[id]
}

func (g *adderGroup) forget(id string) {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	delete(g.requests, id)
}
