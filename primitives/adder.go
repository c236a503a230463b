package primitives

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/adders"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/worded"
)

const (
	longAdderKind   = "long adder"
	doubleAdderKind = "double adder"

	// adderKeyTTL is the time after which the keys of a request expire if the answers are not
	// taken. It is far longer than any caller waits: Redisson's sum gives up after a minute.
	adderKeyTTL = time.Hour

	// firstPatience is the time after which a caller without all answers sends another request. It
	// doubles with each request, up to maxPatience. Then the call ends, after about a minute, like
	// Redisson's sum.
	firstPatience = time.Second
	maxPatience   = 30 * time.Second

	// mappedKeyTTL is adderKeyTTL for the answers to Redisson under a KeyPrefix. Half of these
	// answers are never taken.
	mappedKeyTTL = 2 * time.Minute

	// firstLook is the time after which a caller looks for answers under a KeyPrefix without a
	// message. It doubles each time.
	firstLook = 5 * time.Millisecond

	// answerWithin is how long the client tries to send one answer while it can reach no server.
	answerWithin = time.Minute
)

// UnansweredError means that some processes did not answer a Sum or a Reset within a minute, or
// before the caller's context ended. In the second case the error also wraps the context's error.
// If Sum sent several requests, the UnansweredError describes the request with the most answers.
type UnansweredError struct {
	Asked    int // receivers of the request: two for all of hasp's adders over one backend, one for each of Redisson's
	Answered int // receivers that have answered
}

// Error returns both numbers.
func (e *UnansweredError) Error() string {
	return fmt.Sprintf("%d of %d have answered", e.Answered, e.Asked)
}

// errAdderClosed is the [ErrClosed] of an adder.
var errAdderClosed = worded.New("adder or client closed", ErrClosed)

// adder has the parts that a [LongAdder] and a [DoubleAdder] share.
type adder struct {
	object
	client *Client
	topics adders.Topics

	// begins has the beginnings of the keys of answers. The second beginning, under a KeyPrefix, is
	// Redisson's, which adds the prefix to names that already have it.
	begins []string
	double bool
	group  *adders.Group

	long    atomic.Int64
	doubles atomic.Uint64 // the bits of a float64

	life context.Context //nolint:containedctx // It ends with the adder, and ends the calls that wait.
	end  context.CancelFunc
}

// open makes a an adder of the given kind and name. From then on a receives requests.
func (a *adder) open(ctx context.Context, c *Client, kind, name string) error {
	a.object = c.newObject(kind, name, numberKind)
	a.client, a.double = c, kind == doubleAdderKind
	a.begins = beginsOf(strings.TrimSuffix(a.base.Key(), name), extend.Tagged(a.base.Key()))
	a.topics = adders.Topics{Now: a.begins[0] + adderTopic, Former: a.begins[0] + formerAdderTopic}
	a.life, a.end = context.WithCancel(context.Background())
	a.reject(adderSupport(c.core.Capabilities()))
	return a.do(ctx, a.invalid, "open", func() error { return a.join(ctx) })
}

// beginsOf returns the beginnings of the keys of answers, for adders with this prefix and this
// tagged key. The second beginning is left out if it is in another slot, since one script could not
// use both.
func beginsOf(prefix, tagged string) []string {
	if prefix == "" || backend.Slot(prefix+tagged) != backend.Slot(tagged) {
		return []string{tagged}
	}
	return []string{tagged, prefix + tagged}
}

// adderSupport returns [backend.ErrNotSupported] if requests would not reach all adders, or if the
// server would not report how many they reached.
func adderSupport(can backend.Capabilities) error {
	switch {
	case !can.PubSub:
		return fmt.Errorf("%w: the backend does not subscribe", backend.ErrNotSupported)
	case can.Cluster && !can.Sharded:
		return fmt.Errorf("%w: in a cluster PUBLISH counts the receivers of one node, adders need sharded channels",
			backend.ErrNotSupported)
	}
	return nil
}

// join adds a to the group of its name, and to its client's adders. It returns when the server has
// acknowledged the group's subscriptions.
func (a *adder) join(ctx context.Context) error {
	var err error
	a.group, err = adders.Join(a.base.Core().Backend(), a.topics, a.double, (*adderMember)(a))
	if errors.Is(err, adders.ErrOtherKind) {
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	}
	if err != nil {
		return err //nolint:wrapcheck // Ours.
	}
	err = errAdderClosed // Until it is open, also after a panic of the driver.
	defer func() {
		if err != nil {
			_ = a.Close()
		}
	}()
	if !a.client.adders.add(a) {
		return err
	}
	ctx, leave := a.within(ctx)
	defer leave()
	err = a.orClosed(a.group.Subscribe(ctx))
	return err
}

// Close closes the adder. From then on its count is part of no sum, as after Redisson's destroy,
// and later additions are lost. Its calls of Sum and Reset, those under way and later ones, return
// [ErrClosed]. A Sum of another process at this moment may take a second longer. [Client.Close]
// closes all adders of the client. Close returns nil at once, and may be called twice.
func (a *adder) Close() error {
	a.end()
	a.client.adders.remove(a)
	a.group.Leave((*adderMember)(a))
	return nil
}

// within returns a context that ends with ctx, or with the adder.
func (a *adder) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(a.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// orClosed returns err, or an [ErrClosed] if there is an error and the adder is closed.
func (a *adder) orClosed(err error) error {
	if err != nil && a.life.Err() != nil {
		return errAdderClosed
	}
	return err
}

// addDouble adds x to the count of a double adder.
func (a *adder) addDouble(x float64) {
	for {
		old := a.doubles.Load()
		if a.doubles.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+x)) {
			return
		}
	}
}

// sum asks all adders of the name for the sum of their counts.
func (a *adder) sum(ctx context.Context) (adders.Count, error) { return a.ask(ctx, "sum", adders.Sum) }

// Reset sets the count of each adder of this name to 0, on all clients. Nil means that all adders
// have done so: earlier additions are in no later sum. After an error some adders may have done so,
// and others not, or not yet. Reset waits and fails like Sum.
func (a *adder) Reset(ctx context.Context) error {
	_, err := a.ask(ctx, "reset", adders.Reset)
	return err
}

// ask sends a request to all adders of the name, and returns the sum of their answers.
func (a *adder) ask(ctx context.Context, operation, what string) (adders.Count, error) {
	return extend.Call(ctx, &a.base, a.orClosed(a.life.Err()), operation, func() (adders.Count, error) {
		ctx, leave := a.within(ctx)
		defer leave()
		sum, err := a.askUntilAnswered(ctx, what)
		return sum, a.orClosed(err)
	})
}

// askUntilAnswered sends one request after the other, because a process may end before it answers,
// or its answer may be lost. The error describes the request with the most answers.
func (a *adder) askUntilAnswered(ctx context.Context, what string) (adders.Count, error) {
	var best UnansweredError
	for patience := firstPatience; ; patience = min(2*patience, maxPatience) {
		q := a.newRequest(what)
		sum, err := q.run(ctx, patience)
		if what == adders.Sum {
			err = queryError(ctx, err)
		}
		if n := int(q.answered.Load()); q.unanswered && n >= best.Answered {
			best = UnansweredError{Asked: int(q.asked), Answered: n}
		}
		switch {
		case err != nil && ctx.Err() != nil && best.Asked > 0: // A further request may be on its way.
			return adders.Count{}, fmt.Errorf("%w: %w", &best, err)
		case !q.unanswered:
			return sum, err
		case patience == maxPatience:
			return adders.Count{}, fmt.Errorf("%w within a minute", &best)
		}
	}
}

// keysOf returns the two keys, with the given beginning, of the answers to a request: the sum, and
// the number of answers.
func keysOf(begin, id string) (counter, semaphore string) {
	return begin + ":" + id + adderCounterKey, begin + ":" + id + adderSemaphoreKey
}

func answersChannel(semaphore string) string { return extend.SideName(semaphoreChannel, semaphore) }

// adderRequest is one request to all adders of a name.
type adderRequest struct {
	*adder
	what, id   string
	keys       []string // of the answers: pairs of the sum, and the number of answers
	look       time.Duration
	asked      int64 // without the groups in another logical database
	answered   atomic.Int64
	unanswered bool // not all answers came in time
	sum        string
}

func (a *adder) newRequest(what string) *adderRequest {
	q := &adderRequest{adder: a, what: what, id: adders.NewID(), look: firstLook}
	for _, begin := range a.begins {
		counter, semaphore := keysOf(begin, q.id)
		q.keys = append(q.keys, counter, semaphore)
	}
	return q
}

// run sends the request, waits for all answers, but no longer than patience, and returns the sum.
// If the caller's own group did not get the request, because its link is being restored, run adds
// the group's part.
func (q *adderRequest) run(ctx context.Context, patience time.Duration) (sum adders.Count, err error) {
	q.group.Expect(q.id)
	defer q.group.Forget(q.id)
	q.asked, err = script.AdderAsk(ctx, q.base.Runner(),
		q.keys, q.what+":"+q.id, adderKeyTTL, q.publish(), q.topics.Now, q.topics.Former)
	if err == nil {
		err = q.await(ctx, patience)
	}
	if err == nil {
		sum, err = adders.Parse(q.sum, q.double)
	}
	if err != nil || q.group.Heard(q.id) {
		return sum, err
	}
	return sum.Plus(q.group.Serve(q.what))
}

// await returns nil when all answers have come, and Try has taken the sum.
func (q *adderRequest) await(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	heard := q.asked
	for {
		fewer, stop := context.WithCancel(ctx)
		q.asked = heard - q.group.Elsewhere(q.id, stop)
		err := q.base.Wait(fewer, extend.WaitSpec{
			Channel: answersChannel(q.keys[1]), Private: true, FreeUnits: q.note, Need: int(q.asked),
		}, q)
		again := err != nil && fewer.Err() != nil && ctx.Err() == nil
		stop()
		if !again {
			q.unanswered = err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err())
			return err
		}
	}
}

// note reads a message on the channel of the answers: the number of answers.
func (q *adderRequest) note(payload string) int {
	n := semaphoreFreeUnits(payload)
	q.answered.Store(max(int64(n), q.answered.Load()))
	return n
}

// Try implements [extend.Attempt]. It takes the sum once all answers have come. The waiter does not
// hear messages about the second pair of keys, so it also looks by itself.
func (q *adderRequest) Try(ctx context.Context) (extend.Answer, error) {
	result, err := script.AdderTake(ctx, q.base.Runner(), q.keys, q.asked)
	if err == nil {
		q.answered.Store(result.Answered)
		q.sum = result.Sum
	}
	answer := extend.Answer{Granted: result.SumOK}
	if len(q.begins) > 1 {
		answer.RetryIn = q.look
		q.look *= 2
	}
	return answer, err
}

// openAdders are the open adders of a client. Client.Close closes them.
type openAdders struct {
	mu     sync.Mutex
	closed bool
	all    map[*adder]struct{}
}

// add reports false if the client is closed.
func (o *openAdders) add(a *adder) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[*adder]struct{})
	}
	o.all[a] = struct{}{}
	return !o.closed
}

func (o *openAdders) remove(a *adder) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, a)
}

// close closes all adders. From then on add refuses others.
func (o *openAdders) close() {
	o.mu.Lock()
	o.closed = true
	all := o.all
	o.all = nil
	o.mu.Unlock()
	for a := range all {
		_ = a.Close()
	}
}
