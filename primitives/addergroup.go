package primitives

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// adderGroups has the groups of all open adders of this process. All clients of the process share
// it: over one backend they have one connection for messages (clause S3). So a request counts them
// as one receiver, and one of them must answer for all. It is empty while no adder is open.
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
	name   string // so that the asking group can count each group once
	double bool
	turn   chan struct{} // has a value while one of them subscribes

	// The registry's mutex guards these.
	members      map[*adder]struct{}
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

// join adds a to its group.
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
		key: key, name: randomHex(16), double: double, turn: make(chan struct{}, 1),
		members: make(map[*adder]struct{}), requests: make(map[string]*echo),
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

// leave removes a from the group. The last member ends the subscription.
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

// subscribe returns when the group's subscription is acknowledged. One caller at a time subscribes:
// if it leaves, the next caller does.
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

// handle has one of the group's members answer a request. After a gap there is nothing to do: the
// missed requests are not known.
func (g *adderGroup) handle(event backend.Event) {
	what, id, ok := strings.Cut(event.Payload, ":")
	if event.Kind != backend.EventMessage || !ok {
		return
	}
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	switch what {
	case adderSum, adderReset:
		g.answer(what, id)
	case adderElsewhere:
		g.countOut(id)
	}
}

// answer is handle for a request. The caller holds the mutex.
func (g *adderGroup) answer(what, id string) {
	if q := g.requests[id]; q != nil {
		q.heard = true
	}
	var sum *counted
	switch {
	case what == adderSum:
		part := g.apply(what)
		sum = &part
	case strings.HasPrefix(id, madeKeys): // It may come from another logical database.
		g.resets++
	default:
		g.resets++
		g.obey(g.resets)
	}
	if a := g.speaker(); a != nil {
		a.answer(id, sum) // Within the mutex: a client that closes has removed its members, and waits for this.
	}
}

// speaker returns the member that answers. It prefers a member with a KeyPrefix, which answers at
// more keys. Nil means that there is no member. The caller holds the mutex.
func (g *adderGroup) speaker() (speaker *adder) {
	for a := range g.members {
		if speaker == nil || len(a.begins) > len(speaker.begins) {
			speaker = a
		}
	}
	return speaker
}

// answer sends the answer of a's group to a request. sum is nil for a request to reset. Under a
// KeyPrefix it answers a request of Redisson's at both pairs of keys, since the asking process may
// read either.
func (a *adder) answer(id string, sum *counted) {
	begins, ttl := a.begins, adderKeyTTL
	switch {
	case strings.HasPrefix(id, madeKeys):
		begins = begins[:1]
	case len(begins) > 1:
		ttl = mappedKeyTTL
	}
	for _, begin := range begins {
		a.answerAt(begin, id, sum, ttl)
	}
}

// answerAt sends an answer to the keys with the given beginning, in the background. The answer is
// executed at most once.
func (a *adder) answerAt(begin, id string, sum *counted, ttl time.Duration) {
	counter, semaphore := keysOf(begin, id)
	params := script.AdderAnswerParams{
		Counter: counter, Semaphore: semaphore, TTL: ttl,
		Publish: a.publish(), Answered: answersChannel(semaphore), Topic: a.topic,
	}
	if strings.HasPrefix(id, madeKeys) {
		params.Elsewhere = adderElsewhere + ":" + id + ":" + a.group.name
	}
	reset := a.group.resets // The caller holds the mutex.
	switch {
	case sum != nil && a.double:
		params.Double = &sum.double
	case sum != nil:
		params.Long = &sum.long
	}
	a.base.Go(func(ctx context.Context, r backend.ScriptRunner) {
		ctx, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		err := a.sendAnswer(ctx, r, params, reset)
		for pause := initialBackoff; canResend(err) && sleep(ctx, pause); pause = min(2*pause, maxBackoff) {
			err = a.sendAnswer(ctx, r, params, reset)
		}
		if err != nil {
			a.base.Logger().Warn("a request may have no answer", zap.Error(err))
		}
	})
}

// sendAnswer sends an answer once. If a request to reset may come from another logical database,
// sendAnswer first asks whether it does, and obeys it if not. reset is the number of that request.
func (a *adder) sendAnswer(
	ctx context.Context, r backend.ScriptRunner, params script.AdderAnswerParams, reset int,
) error {
	if params.Elsewhere != "" && params.Long == nil && params.Double == nil {
		here, err := script.AdderHere(ctx, r, params.Semaphore)
		if err != nil {
			return err //nolint:wrapcheck // It is logged.
		}
		if here {
			a.group.obeyLate(reset)
		}
	}
	_, err := script.AdderAnswer(ctx, r, params)
	return err //nolint:wrapcheck // It is logged.
}

// obeyLate is obey for a caller that does not hold the mutex.
func (g *adderGroup) obeyLate(reset int) {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	g.obey(reset)
}

// obey sets the counts to 0 for the request to reset with this number. If the group has obeyed a
// later request, it does nothing, so that later additions are kept. The caller holds the mutex.
func (g *adderGroup) obey(reset int) {
	if reset > g.obeyed {
		g.obeyed = reset
		g.apply(adderReset)
	}
}

// countOut notes that a group in another logical database heard a member's request. That group
// gives no answer. The caller holds the mutex.
func (g *adderGroup) countOut(message string) {
	id, group, _ := strings.Cut(message, ":")
	if q := g.requests[id]; q != nil {
		q.elsewhere[group] = struct{}{}
		q.fewer()
	}
}

// elsewhere returns how many groups in another logical database have heard a member's request. The
// next such group calls fewer.
func (g *adderGroup) elsewhere(id string, fewer func()) int64 {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	q := g.requests[id]
	q.fewer = fewer
	return int64(len(q.elsewhere))
}

// serve obeys a request without an answer. For a request of the sum, it returns the group's count.
func (g *adderGroup) serve(what string) counted {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	return g.apply(what)
}

// apply is serve for a caller that holds the mutex. A script cannot take NaN as a double: apply
// returns an infinite number instead, which is out of range as well.
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

// expect notes a member's request, before it is sent.
func (g *adderGroup) expect(id string) {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	g.requests[id] = &echo{elsewhere: make(map[string]struct{}), fewer: func() {}}
}

// heard reports whether the group received a member's request, and so answered it. Otherwise the
// server did not count the group, because its link is being restored.
func (g *adderGroup) heard(id string) bool {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	return g.requests[id].heard
}

func (g *adderGroup) forget(id string) {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	delete(g.requests, id)
}
