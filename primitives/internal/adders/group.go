// Package adders is the open adders of this process. An adder keeps its count in the process. A request for the
// sum, or to reset, is a message to all processes. In each process the adders of one name over one backend hear
// it as one group, and one of them answers for all.
package adders

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/backend"
)

const (
	// Sum begins a request for the sum. A colon and the id of the request follow.
	Sum = "1"

	// Reset begins a request to reset, likewise.
	Reset = "0"

	// Elsewhere begins the message that a group publishes instead of an answer, if it hears a
	// request of another logical database. The id of the request and the name of the group follow.
	// Redisson's adders ignore the message.
	Elsewhere = "2"

	// madeKeys begins the ids of our requests. The keys of such a request exist before any adder
	// hears of it: an adder that does not find the keys is in another logical database. It is
	// "hasp" and two zeros, in hex. Redisson's ids are random.
	madeKeys = "686173700000"
)

// NewID returns the id of a new request, which was never used before. The form is Redisson's.
func NewID() string { return madeKeys + randomHex(10) }

// Ours reports whether the request with this id is of a hasp client. It may be of another logical database.
func Ours(id string) bool { return strings.HasPrefix(id, madeKeys) }

// Member is an open adder. It is the key of a map. The groups hold their mutex while they call its methods, which
// must not block.
type Member interface {
	// Count returns the adder's count.
	Count() Count

	// Forget sets the count to 0.
	Forget()

	// Answers returns at how many places the adder answers Redisson's requests.
	Answers() int

	// Answer begins to send the group's answer to a request. sum is nil for a request to reset, whose
	// number in the group is reset.
	Answer(id string, sum *Count, reset int)
}

// ErrOtherKind means that the group has adders of the other kind.
var ErrOtherKind = errors.New("this process has an adder of the other kind under that name")

// open has the groups of all open adders of this process. All clients of the process share
// it: over one backend they have one connection for messages (clause S3). So a request counts them
// as one receiver, and one of them must answer for all. It is empty while no adder is open.
var open registry

// registry has a group for each name over each backend. Its mutex guards the groups, too.
type registry struct {
	mu     sync.Mutex
	groups map[groupKey]*Group
}

type groupKey struct {
	backend backend.Backend
	topic   string
}

// Group is all open adders of one name over one backend. It hears a request once, and answers it once.
type Group struct {
	key    groupKey
	name   string
	double bool
	turn   chan struct{} // has a value while one of them subscribes

	// The registry's mutex guards these.
	members      map[Member]struct{}
	subscription backend.Subscription // nil: not acknowledged yet
	requests     map[string]*echo     // of members, under way
	resets       int                  // requests to reset that were heard
	obeyed       int                  // the number of the last of them that was obeyed
}

// echo records how far a member's request has come.
type echo struct {
	heard     bool                // it came back to the group
	elsewhere map[string]struct{} // the groups that have heard it in another logical database
	fewer     func()              // called when another group has
}

// Join adds m to the group of the adders over b that hear the requests of a topic. double says that they count
// float64s.
func Join(b backend.Backend, topic string, double bool, m Member) (*Group, error) {
	if !reflect.ValueOf(b).Comparable() {
		return nil, fmt.Errorf("%w: backends of type %T cannot be compared, which adders need: use a pointer",
			backend.ErrNotSupported, b)
	}
	open.mu.Lock()
	defer open.mu.Unlock()
	key := groupKey{b, topic}
	g := open.groups[key]
	switch {
	case g == nil:
		g = open.newGroup(key, double)
	case g.double != double:
		return nil, ErrOtherKind
	}
	g.members[m] = struct{}{}
	return g, nil
}

// newGroup makes a group. The caller holds the mutex.
func (r *registry) newGroup(key groupKey, double bool) *Group {
	if r.groups == nil {
		r.groups = make(map[groupKey]*Group)
	}
	g := &Group{
		key: key, name: randomHex(16), double: double, turn: make(chan struct{}, 1),
		members: make(map[Member]struct{}), requests: make(map[string]*echo),
	}
	r.groups[key] = g
	return g
}

// randomHex returns n random bytes as digits.
func randomHex(n int) string {
	digits := make([]byte, n)
	_, _ = rand.Read(digits) // It never fails.
	return hex.EncodeToString(digits)
}

// Name returns a random name, by which the group of a request counts each other group once.
func (g *Group) Name() string { return g.name }

// Leave removes m from the group. The last member ends the subscription.
func (g *Group) Leave(m Member) {
	open.mu.Lock()
	delete(g.members, m)
	var unused backend.Subscription
	if len(g.members) == 0 && open.groups[g.key] == g {
		delete(open.groups, g.key)
		unused = g.subscription
	}
	open.mu.Unlock()
	if unused != nil {
		unused.Cancel()
	}
}

// Subscribe returns when the group's subscription is acknowledged. One caller at a time subscribes:
// if it leaves, the next caller does.
func (g *Group) Subscribe(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if g.subscribed() {
		return ctx.Err()
	}
	s, err := g.key.backend.Subscribe(ctx, g.key.topic, g.handle)
	if err == nil && !g.keep(s) {
		s.Cancel()
		err = backend.ErrClosed
	}
	return err
}

func (g *Group) subscribed() bool {
	open.mu.Lock()
	defer open.mu.Unlock()
	return g.subscription != nil
}

// keep keeps the subscription. It reports false if all members have left meanwhile.
func (g *Group) keep(s backend.Subscription) bool {
	open.mu.Lock()
	defer open.mu.Unlock()
	if len(g.members) == 0 {
		return false
	}
	g.subscription = s
	return true
}

// handle has one of the group's members answer a request. After a gap there is nothing to do: the
// missed requests are not known.
func (g *Group) handle(event backend.Event) {
	what, id, ok := strings.Cut(event.Payload, ":")
	if event.Kind != backend.EventMessage || !ok {
		return
	}
	open.mu.Lock()
	defer open.mu.Unlock()
	switch what {
	case Sum, Reset:
		g.answer(what, id)
	case Elsewhere:
		g.countOut(id)
	}
}

// answer is handle for a request. The caller holds the mutex.
func (g *Group) answer(what, id string) {
	if q := g.requests[id]; q != nil {
		q.heard = true
	}
	var sum *Count
	switch {
	case what == Sum:
		part := g.apply(what)
		sum = &part
	case Ours(id): // It may come from another logical database.
		g.resets++
	default:
		g.resets++
		g.obey(g.resets)
	}
	if m := g.speaker(); m != nil {
		m.Answer(id, sum, g.resets) // Within the mutex: a client that closes has removed its members, and waits for this.
	}
}

// speaker returns the member that answers. It prefers a member with a KeyPrefix, which answers at
// more keys. Nil means that there is no member. The caller holds the mutex.
func (g *Group) speaker() (speaker Member) {
	for m := range g.members {
		if speaker == nil || m.Answers() > speaker.Answers() {
			speaker = m
		}
	}
	return speaker
}

// Obey sets the counts to 0 for the request to reset with this number, which the group has heard. If the group
// has obeyed a later request, it does nothing, so that later additions are kept.
func (g *Group) Obey(reset int) {
	open.mu.Lock()
	defer open.mu.Unlock()
	g.obey(reset)
}

// obey is Obey for a caller that holds the mutex.
func (g *Group) obey(reset int) {
	if reset > g.obeyed {
		g.obeyed = reset
		g.apply(Reset)
	}
}

// countOut notes that a group in another logical database heard a member's request. That group
// gives no answer. The caller holds the mutex.
func (g *Group) countOut(message string) {
	id, group, _ := strings.Cut(message, ":")
	if q := g.requests[id]; q != nil {
		q.elsewhere[group] = struct{}{}
		q.fewer()
	}
}

// Elsewhere returns how many groups in another logical database have heard a member's request. The
// next such group calls fewer.
func (g *Group) Elsewhere(id string, fewer func()) int64 {
	open.mu.Lock()
	defer open.mu.Unlock()
	q := g.requests[id]
	q.fewer = fewer
	return int64(len(q.elsewhere))
}

// Serve obeys a request without an answer. For a request of the sum, it returns the group's count.
func (g *Group) Serve(what string) Count {
	open.mu.Lock()
	defer open.mu.Unlock()
	return g.apply(what)
}

// apply is Serve for a caller that holds the mutex. A script cannot take NaN as a double: apply
// returns an infinite number instead, which is out of range as well.
func (g *Group) apply(what string) (sum Count) {
	for m := range g.members {
		if what == Reset {
			m.Forget()
			continue
		}
		c := m.Count()
		sum.Long += c.Long
		sum.Double += c.Double
	}
	if math.IsNaN(sum.Double) {
		sum.Double = math.Inf(1)
	}
	return sum
}

// Expect notes a member's request, before it is sent.
func (g *Group) Expect(id string) {
	open.mu.Lock()
	defer open.mu.Unlock()
	g.requests[id] = &echo{elsewhere: make(map[string]struct{}), fewer: func() {}}
}

// Heard reports whether the group received a member's request, and so answered it. Otherwise the
// server did not count the group, because its link is being restored.
func (g *Group) Heard(id string) bool {
	open.mu.Lock()
	defer open.mu.Unlock()
	return g.requests[id].heard
}

// Forget notes that a member's request has ended.
func (g *Group) Forget(id string) {
	open.mu.Lock()
	defer open.mu.Unlock()
	delete(g.requests, id)
}
