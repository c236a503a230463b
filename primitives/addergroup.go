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
	name   string // by which an asker distinguishes it from others
	double bool
	turn   chan struct{} // has a value while one of them subscribes

	// The registry's mutex guards these.
	members      map[*adder]struct{}
	subscription backend.Subscription // nil: it was not acknowledged yet
	requests     map[string]*echo     // of members, under way
	resets       int                  // requests to reset that were heard
	obeyed       int                  // the last of them that was obeyed
}

// echo is what a group hears of a member's request.
type echo struct {
	heard     bool                // it came back to the group
	elsewhere map[string]struct{} // the groups that have heard it in another logical database
	fewer     func()              // to be called when one more has
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
	case strings.HasPrefix(id, madeKeys): // It may be of another logical database.
		g.resets++
	default:
		g.resets++
		g.obey(g.resets)
	}
	if a := g.speaker(); a != nil {
		a.answer(id, sum) // Within the mutex: a client that closes has no members any more, and waits for this.
	}
}

// speaker returns the member that answers: one with a KeyPrefix, if there is any, since it answers at more keys. nil:
// there is no member. The caller holds the mutex.
func (g *adderGroup) speaker() (speaker *adder) {
	for a := range g.members {
		if speaker == nil || len(a.begins) > len(speaker.begins) {
			speaker = a
		}
	}
	return speaker
}

// answer sends the answer of a's group to a request. A sum of nil is that of a request to reset. Under a KeyPrefix a
// request of Redisson's is answered at both pairs of keys, since either may be those of its asker.
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

// answerAt sends an answer to keys that begin so, at most once. It goes on in the background.
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

// sendAnswer sends an answer once. A request to reset that may be of another logical database is obeyed here, once
// it is known that it is not. It has the given number.
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

// obeyLate is obey for a caller who does not hold the mutex.
func (g *adderGroup) obeyLate(reset int) {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	g.obey(reset)
}

// obey makes the counts 0, for the request to reset of that number. If a later one was obeyed, what was added since is
// kept. The caller holds the mutex.
func (g *adderGroup) obey(reset int) {
	if reset > g.obeyed {
		g.obeyed = reset
		g.apply(adderReset)
	}
}

// countOut notes that a member's request was heard in another logical database, by a group that gives no answer. The
// caller holds the mutex.
func (g *adderGroup) countOut(message string) {
	id, group, _ := strings.Cut(message, ":")
	if q := g.requests[id]; q != nil {
		q.elsewhere[group] = struct{}{}
		q.fewer()
	}
}

// elsewhere returns how many groups have heard a member's request in another logical database. When there is one more,
// fewer is called.
func (g *adderGroup) elsewhere(id string, fewer func()) int64 {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	q := g.requests[id]
	q.fewer = fewer
	return int64(len(q.elsewhere))
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
	g.requests[id] = &echo{elsewhere: make(map[string]struct{}), fewer: func() {}}
}

// heard reports whether a member's request came back to the group, which has answered it then. Otherwise
// the group was not asked: its link is being restored.
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
