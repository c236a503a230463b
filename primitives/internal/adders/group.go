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
	"maps"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

const (
	// Sum begins a request for the sum. A colon and the id of the request follow.
	Sum = "1"

	// Reset begins a request to reset, likewise.
	Reset = "0"

	// Elsewhere begins the message that a group publishes instead of an answer, if it hears a
	// request of another logical database. The id of the request and [Answer].Name follow.
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

	// Answer begins to send an answer to a request.
	Answer(a Answer)
}

// Answer is the answer of a group to a request. It has all that its member needs: the member may have joined the group
// a moment ago, and its own call of [Join] may not have returned yet.
type Answer struct {
	Group *Group
	ID    string // of the request
	Sum   *Count // nil: none is asked for, or the group has sent it
	Reset int    // the number of a request to reset; 0: it is none, or the group has answered it

	// Name is another for each answer of a group to one request.
	Name string
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
	topics  Topics
}

// Topics are the channels of the requests to the adders of one name.
type Topics struct {
	Now    string // of Redisson 3.38 and newer
	Former string // of older Redisson
}

// Group is all open adders of one name over one backend. It hears a request of Redisson on one of the topics. It hears
// one of ours on both, and answers twice, since the server counts it as two receivers. The first of these answers
// has the sum.
type Group struct {
	key    groupKey
	name   string
	double bool
	turn   chan struct{} // has a value while one of them subscribes

	// The registry's mutex guards these.
	members       map[Member]struct{}
	subscriptions []backend.Subscription // none: not acknowledged yet
	once          map[string]time.Time   // since when a request of ours was heard on one topic only
	requests      map[string]*echo       // of members, under way
	resets        int                    // requests to reset that were heard
	obeyed        int                    // the number of the last of them that was obeyed
}

// echo records how far a member's request has come.
type echo struct {
	heard     bool                // it came back to the group
	elsewhere map[string]struct{} // the names of answers that groups in another logical database do not give
	fewer     func()              // called when there is another such name
}

// Join adds m to the group of the adders over b that hear the requests of the topics. double says that they count
// float64s.
func Join(b backend.Backend, topics Topics, double bool, m Member) (*Group, error) {
	if !reflect.ValueOf(b).Comparable() {
		return nil, fmt.Errorf("%w: backends of type %T cannot be compared, which adders need: use a pointer",
			backend.ErrNotSupported, b)
	}
	open.mu.Lock()
	defer open.mu.Unlock()
	key := groupKey{b, topics}
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
		members: make(map[Member]struct{}), requests: make(map[string]*echo), once: make(map[string]time.Time),
	}
	r.groups[key] = g
	return g
}

func randomHex(n int) string {
	digits := make([]byte, n)
	_, _ = rand.Read(digits) // It never fails.
	return hex.EncodeToString(digits)
}

// Leave removes m from the group. The last member ends the subscriptions.
func (g *Group) Leave(m Member) {
	open.mu.Lock()
	delete(g.members, m)
	var unused []backend.Subscription
	if len(g.members) == 0 && open.groups[g.key] == g {
		delete(open.groups, g.key)
		unused = g.subscriptions
	}
	open.mu.Unlock()
	cancel(unused)
}

// cancel ends subscriptions at once, because an asking process waits for as many answers as the server counts subscribers.
func cancel(all []backend.Subscription) {
	for _, s := range all {
		if ender, ok := s.(backend.Ender); ok {
			ender.End()
		} else {
			s.Cancel()
		}
	}
}

// Subscribe returns when the group's subscriptions are acknowledged. One caller at a time subscribes:
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
	var unused []backend.Subscription
	defer func() { cancel(unused) }() // Also after a panic of the driver.
	for _, topic := range []string{g.key.topics.Now, g.key.topics.Former} {
		s, err := g.key.backend.Subscribe(ctx, topic, g.handle)
		if err != nil {
			return err //nolint:wrapcheck // It is classified.
		}
		unused = append(unused, s)
	}
	if !g.keep(unused) {
		return backend.ErrClosed
	}
	unused = nil
	return nil
}

func (g *Group) subscribed() bool {
	open.mu.Lock()
	defer open.mu.Unlock()
	return g.subscriptions != nil
}

// keep keeps the subscriptions. It reports false if all members have left meanwhile.
func (g *Group) keep(all []backend.Subscription) bool {
	open.mu.Lock()
	defer open.mu.Unlock()
	if len(g.members) == 0 {
		return false
	}
	g.subscriptions = all
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
	answer := Answer{Group: g, ID: id, Name: g.name}
	switch {
	case g.hasHeard(id):
		answer.Name += "+"
	case what == Sum:
		part := g.apply(what)
		answer.Sum = &part
	case Ours(id): // It may come from another logical database.
		g.resets++
		answer.Reset = g.resets
	default:
		g.resets++
		g.obey(g.resets)
	}
	if m := g.speaker(); m != nil {
		m.Answer(answer) // Within the mutex: a client that closes has removed its members, and waits for this.
	}
}

// onceFor is how long a group remembers a request of ours that it has heard on one topic only, because it was not
// subscribed to the other. No request is under way for longer.
const onceFor = time.Minute

// hasHeard reports whether the group hears a request of ours for the second time. The caller holds the mutex.
func (g *Group) hasHeard(id string) bool {
	if !Ours(id) {
		return false
	}
	_, heard := g.once[id]
	delete(g.once, id)
	if !heard {
		now := time.Now()
		maps.DeleteFunc(g.once, func(_ string, since time.Time) bool { return now.Sub(since) > onceFor })
		g.once[id] = now
	}
	return heard
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
// has obeyed a later request, it does nothing, so later additions are kept.
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

// countOut notes that a group in another logical database heard a member's request, and gives one answer less. The
// caller holds the mutex.
func (g *Group) countOut(message string) {
	id, answer, _ := strings.Cut(message, ":")
	if q := g.requests[id]; q != nil {
		q.elsewhere[answer] = struct{}{}
		q.fewer()
	}
}

// Elsewhere returns how many answers to a member's request groups in another logical database do not give. The
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
