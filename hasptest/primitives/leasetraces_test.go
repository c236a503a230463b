package primitives_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// tracesEach is how many locks share the clients of one bubble. Each has a trace of its own.
const tracesEach = 20

// TestTraces checks that what real clients do with a lock, over bad links and in virtual time, is a behaviour of
// docs/spec/Lease.tla. HASP_TRACES is how many locks there are.
func TestTraces(t *testing.T) {
	t.Parallel()
	bubbles, steps := 10, map[string]int{}
	if !testing.Short() {
		bubbles = 250
	}
	if wanted, err := strconv.Atoi(os.Getenv("HASP_TRACES")); err == nil {
		bubbles = (wanted + tracesEach - 1) / tracesEach
	}
	for seed := range uint64(bubbles) {
		synctest.Test(t, func(t *testing.T) { newTraces(t, seed, steps).run(t) })
	}
	t.Logf("%d traces, 0 deviations: %v", bubbles*tracesEach, steps)
	for _, step := range []string{
		"ask", "grant", "reply", "renew", "renewed", "confirm", "leave", "released", "read", "write", "loss", "sync",
	} {
		require.Positive(t, steps[step], step)
	}
}

// traces are the locks of one bubble. Server.mu guards all of it.
type traces struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand // of what is drawn before anything begins
	faults  *rand.Rand
	server  *server
	lease   time.Duration // the watchdog's
	cluster bool          // the keys of a script must share a slot, which clients learn
	crosses bool          // those of the script that is sent do not
	begin   time.Time
	lives   map[string]*life  // by their keys
	owners  map[string]*owned // by their names
	steps   map[string]int
}

// life is what happens to one lock: steps of the specification. Time is in nanoseconds, by the process's clock. Of the
// steps it sees the requests, when the server runs them, and what leases say. When a client gets an answer it does not
// see: it takes a reply when Lock returns, and the answer to a renewal when the lease's end has moved.
type life struct {
	*traces
	key      string
	replicas int
	spec     leaseSpec
	of       []*owned // by the clients of spec
	notes    []string
}

// owned is a client of the specification: one owner of a lock, which asks once.
type owned struct {
	life    *life
	name    string
	c, g    int
	lease   *primitives.Lease // that was returned, until it is lost
	left    int64             // when the first release was sent
	gain    int64             // of the server's clock since its last renewal
	deleted bool              // its key, by somebody else
	ending  bool              // the caller releases it
}

func newTraces(t *testing.T, seed uint64, steps map[string]int) *traces {
	t.Helper()
	w := &traces{
		t: t, seed: seed, steps: steps, server: newServer(t), begin: time.Now(), lives: map[string]*life{}, owners: map[string]*owned{},
		rng:    rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // A test's schedule.
		faults: rand.New(rand.NewPCG(seed, 2)), //nolint:gosec // A test's schedule.
	}
	w.cluster = w.rng.IntN(4) == 0
	w.lease = []time.Duration{300, 1000, 3000}[w.rng.IntN(3)] * time.Millisecond
	w.server.fault, w.server.acks, w.server.seen, w.server.ran = w.fault, w.acks, w.seen, w.ran
	return w
}

// now is the present time of the specification. It begins at 1, and the server's clock begins ahead of that.
func (w *traces) now() int64 { return int64(time.Since(w.begin)) + 1 }

// newLife begins the life of a lock. With replicas, a grant counts only when they have it.
func (w *traces) newLife(replicas int) *life {
	l := &life{traces: w, replicas: replicas, key: fmt.Sprintf("lock%d", len(w.lives))}
	start := w.begin.Add(-1).UnixNano()
	l.spec = leaseSpec{rises: true, specRules: &specRules{
		micros: func(clock int64) int64 { return (start + clock) / 1000 }, renewals: 1 << 20, early: true,
		clockTokens: true, fencing: true, wait: replicas > 0, waitRenew: replicas > 0,
	}}
	w.lives[l.key] = l
	return l
}

// trusted reports whether the owner believes in its lease, and the server keeps that as it has promised: nobody deleted the
// key, nor set the server's clock too far.
func (o *owned) trusted() bool { return o.life.spec.believes(o.c) && o.promised() }

func (o *owned) promised() bool { return !o.deleted && o.gain <= o.life.spec.cl[o.c].drift }

// did notes a step, which the specification must allow.
func (l *life) did(step string, client int, allowed bool) {
	l.steps[step]++
	l.note("client %d: %s", client, step)
	if !allowed {
		l.deviates("the specification does not allow this step")
	}
}

func (l *life) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf("%12v %s", time.Since(l.begin), fmt.Sprintf(format, args...)))
}

func (l *life) deviates(text string) {
	if !l.t.Failed() {
		l.t.Errorf("seed %d, %s: %s\n%s\nserver %+v\nclients %+v", l.seed, l.key, text,
			strings.Join(l.notes[max(0, len(l.notes)-60):], "\n"), l.spec.p, l.spec.cl)
	}
}

// ownerForm is that of an owner's name.
var ownerForm = regexp.MustCompile(`^[0-9a-f-]{36}:-?\d+$`)

// each calls do for each owner that the arguments of a script name.
func (w *traces) each(args []string, do func(o *owned)) {
	for _, arg := range args {
		if o := w.owners[arg]; o != nil {
			do(o)
		}
	}
}

// seen takes a script that a client sends.
func (w *traces) seen(script string, keys, args []string) {
	w.crosses = w.cluster && backend.SameSlot(keys) != nil
	switch {
	case strings.HasSuffix(script, "_acquire"):
		w.lives[keys[0]].asks(args)
	case strings.HasSuffix(script, "_renew"):
		w.each(args, func(o *owned) { o.life.renews(o) })
	case strings.Contains(script, "_release"):
		w.each(args, func(o *owned) { o.life.leaves(o) })
	}
	w.look(keys)
}

func (l *life) asks(args []string) {
	l.spec.now = l.now()
	i := slices.IndexFunc(args, ownerForm.MatchString)
	millis, err := strconv.Atoi(args[i+1])
	lease := time.Duration(millis) * time.Millisecond
	o := &owned{life: l, name: args[i], c: len(l.of)}
	l.of, l.spec.cl, l.owners[o.name] = append(l.of, o), append(l.spec.cl, specClient{}), o
	l.did("ask", o.c, err == nil && l.spec.ask(o.c, int64(lease), int64(max(lease/10, 2*time.Millisecond))))
}

// renews notes a renewal that a client sends. Of the events of one instant, the renewal counts as the first. It leaves out
// a renewal that queued until its lease had ended: nobody trusts that lease. Only a renewal that waits for replicas may
// queue until the lease is released.
func (l *life) renews(o *owned) {
	l.spec.now = l.now()
	l.explain(o)
	queued := (o.left == 0 || l.spec.wait) && !l.spec.believes(o.c) && !l.spec.waits(o.c)
	if !queued && o.left != l.spec.now {
		l.did("renew", o.c, l.spec.renew(o.c))
	}
}

// leaves takes a release that is sent. The request to acquire may still be under way: then the client leaves when it is
// granted.
func (l *life) leaves(o *owned) {
	l.spec.now = l.now()
	o.keeps()
	if o.left == 0 {
		o.left = l.spec.now
	}
	c := l.spec.cl[o.c]
	if works := c.work != workNone && !o.trusted(); !works && (c.st == specGranted || c.st == specHeld) {
		l.did("leave", o.c, l.spec.leave(o.c))
	}
}

// ran takes a script that the server has run.
func (w *traces) ran(script string, keys, args []string, reply backend.Reply) {
	for _, key := range keys {
		if l := w.lives[key]; l != nil {
			l.spec.now = l.now()
		}
	}
	switch n, _ := reply.Int(); {
	case strings.HasSuffix(script, "_acquire"):
		w.each(args, func(o *owned) { o.life.granted(o) })
	case strings.HasSuffix(script, "_renew"):
		w.each(args, func(o *owned) { o.life.renewed(o) })
	case strings.HasSuffix(script, "force_release") && n > 0:
		w.lives[keys[0]].deleted()
	case strings.Contains(script, "_release"):
		w.each(args, func(o *owned) { o.life.freed(o) })
	}
	for _, key := range keys {
		if l := w.lives[key]; l != nil {
			l.serves()
		}
	}
	w.look(keys)
}

// holds reports whether an owner has the lock on the server.
func (l *life) holds(o *owned) bool { return first(l.server.do("HEXISTS", l.key, o.name)) == "1" }

func (l *life) granted(o *owned) {
	if !l.holds(o) {
		return // It was refused.
	}
	token, err := strconv.ParseInt(first(l.server.do("GET", "redisson_lock_token:{"+l.key+"}")), 10, 64)
	l.did("grant", o.c, err == nil && l.spec.grant(o.c, token))
	if o.g = l.spec.grants; o.left > 0 {
		l.did("leave", o.c, l.spec.leave(o.c))
	}
}

// renewed takes a renewal that the server has run. Renewals of one owner do not differ, so it is the first. What was under
// way when the client left changes nothing for anybody. If none is under way, it was sent before the client was refused and
// asked again, or it had queued: then the client does not count it.
func (l *life) renewed(o *owned) {
	c := &l.spec.cl[o.c]
	if !l.holds(o) || c.st == specIdle {
		return
	}
	o.gain = 0
	i := slices.IndexFunc(c.renewals, func(r specRenewal) bool { return r.exp == 0 })
	if i >= 0 {
		l.did("renewed", o.c, l.spec.renewed(o.c, i, false))
	} else if l.spec.p.owner == c.g && !l.spec.expired(&l.spec.p) {
		l.spec.p.exp = l.spec.clock(&l.spec.p) + c.lease
	}
}

func (l *life) freed(o *owned) {
	if o.g > 0 && l.spec.p.owner == o.g && !l.spec.expired(&l.spec.p) && !l.holds(o) {
		l.did("released", o.c, l.spec.released())
	}
}

// deleted takes the second exception of docs/guarantees.md: somebody has deleted the key.
func (l *life) deleted() {
	l.note("the key is deleted")
	for _, o := range l.of {
		o.deleted = o.deleted || o.g > 0 && o.g == l.spec.p.owner
	}
	l.spec.p.owner, l.spec.p.exp = 0, 0
}

// serves fails if the server has lost a lock.
func (l *life) serves() {
	for _, o := range l.of {
		if o.g > 0 && o.g == l.spec.p.owner && !l.spec.expired(&l.spec.p) && !l.holds(o) {
			l.deviates(fmt.Sprintf("client %d does not have the lock on the server", o.c))
		}
	}
}

// look compares the locks of some keys with the specification.
func (w *traces) look(keys []string) {
	for _, key := range keys {
		if l := w.lives[key]; l != nil {
			l.look()
		}
	}
}

func (l *life) look() {
	l.spec.now = l.now()
	believers := 0
	for _, o := range l.of {
		if o.lease != nil {
			l.lookAt(o)
		}
		if o.trusted() {
			believers++
		}
	}
	if broken := l.spec.broken("TokensRise", "NoStaleWrite", "NoFalseRefusal"); broken != "" || believers > 1 {
		l.deviates(fmt.Sprintf("%s is violated; %d holders", broken, believers))
	}
}

// lookAt asks a lease whether it is held. At the moment at which it ends, Done may follow Err.
func (l *life) lookAt(o *owned) {
	l.explain(o)
	held := o.lease.Err() == nil
	select {
	case <-o.lease.Done():
	default:
		held = held || l.spec.now != l.spec.cl[o.c].until
	}
	switch {
	case held:
		if !l.spec.believes(o.c) {
			l.deviates(fmt.Sprintf("client %d believes in its lease", o.c))
		}
	case l.spec.cl[o.c].work == workNone:
		o.keeps()
		o.lease = nil
		if l.spec.cl[o.c].st != specIdle {
			l.steps["loss"]++
			l.did("leave", o.c, l.spec.leave(o.c))
		}
	}
}

// keeps fails if a lease that nobody releases has ended although the server has it.
func (o *owned) keeps() {
	if o.lease != nil && !o.ending && o.trusted() {
		o.life.deviates(fmt.Sprintf("client %d has lost its lease, but not the lock", o.c))
	}
}

// explain finds the renewal that has moved the end of a lease, if it has moved: the first that moves it so far. If it
// moves it further, it had queued before it was sent.
func (l *life) explain(o *owned) {
	c := &l.spec.cl[o.c]
	if o.lease == nil || o.lease.Remaining() == 0 {
		return
	}
	until := l.spec.now + int64(o.lease.Remaining())
	if until <= max(c.until, c.end(c.sent, 0)) {
		return
	}
	i := slices.IndexFunc(c.renewals, func(r specRenewal) bool { return c.end(r.sent, 0) >= until })
	if i >= 0 {
		c.renewals = slices.Clone(c.renewals)
		c.renewals[i].sent -= c.end(c.renewals[i].sent, 0) - until
		c.pairs(i)
	}
	replica := l.spec.r
	if i >= 0 && !o.promised() {
		l.spec.r.owner, l.spec.r.exp = o.g, c.renewals[i].exp // As in took.
	}
	// The answer came since the last look: at the latest, just before the end that the lease had.
	if c.st == specHeld {
		l.spec.now = min(l.spec.now, c.until-1)
	}
	l.did("confirm", o.c, i >= 0 && l.spec.confirm(o.c, i, 0))
	l.spec.r, l.spec.now = replica, l.now()
}

// pairs makes the i-th renewal the first that was run since it was sent: the renewals of an owner do not differ, so nobody
// sees which of them a server runs.
func (c *specClient) pairs(i int) {
	best := -1
	for j, r := range c.renewals {
		if r.exp >= c.renewals[i].sent+c.lease && (best < 0 || r.exp < c.renewals[best].exp) {
			best = j
		}
	}
	if best >= 0 {
		c.renewals[i].exp, c.renewals[best].exp = c.renewals[best].exp, c.renewals[i].exp
	}
}

// took takes a lease that Lock has returned.
func (l *life) took(lease *primitives.Lease) *owned {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	l.spec.now = l.now()
	o := l.owners[lease.Owner()]
	if o.life != l {
		l.deviates("another lock has an owner of the same name")
		return o
	}
	o.lease = lease
	l.explain(o)
	if c := &l.spec.cl[o.c]; lease.Remaining() > 0 { // The request may have queued before it was sent.
		c.sent = min(c.sent, l.spec.now+int64(lease.Remaining())-c.end(0, 0))
	}
	replica := l.spec.r
	if !o.promised() {
		l.spec.r.owner = o.g // The replica has acknowledged the grant, and then lost it, too.
	}
	replied := l.spec.reply(o.c, 0) && l.spec.cl[o.c].tok == lease.Token()
	l.did("reply", o.c, replied && (o.trusted() || !o.promised())) // Lock returns no lease that has ended.
	l.spec.r = replica
	l.look()
	return o
}

// works lets a holder read what the lock protects, pause, and write. It reports whether the holder had the lock.
func (o *owned) works(pause time.Duration) (held bool) {
	l := o.life
	l.server.set(func() {
		l.look()
		if held = l.spec.look(o.c); held {
			l.did("read", o.c, l.spec.read(o.c))
		}
	})
	time.Sleep(pause)
	l.server.set(func() {
		if l.spec.write(o.c) {
			l.did("write", o.c, true)
		}
		l.look()
	})
	return held
}
