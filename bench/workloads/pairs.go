package workloads

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/primitives"
)

// Maker makes an object called name, readies it, and returns the use that is measured, such as an acquire and its
// release. What it makes may be a primitive of another module.
type Maker = func(ctx context.Context, c *primitives.Client, name string) (use func(context.Context) error, err error)

// Pair returns a workload without contention: each goroutine uses an object of its own, again and again. Bare is the
// driver, which sends the commands of the second use one by one, with the name of each object in them. All uses
// must send the same commands.
func Pair(name string, object Maker) benchmark.Workload {
	return pair{name, object, bareAlone}.workload()
}

// partners are those that this library's primitive takes turns with.
type partners int

const (
	nobody partners = iota
	bareAlone
	bareAndPeers
	bareAndRedisson // and the peers
)

// pair is a use of which each goroutine has an object of its own: mostly an acquire and a release.
type pair struct {
	name string
	make Maker
	with partners
}

func pairMakers() []pair {
	return []pair{
		{"lock_pair", lockPair, bareAndRedisson},
		{"plain_pair", pairOf(func(c *primitives.Client, name string) locker { return c.NewPlainLock(name, nil) }), bareAndPeers},
		{"mutex_pair", pairOf(func(c *primitives.Client, name string) locker { return c.NewMutex(name, nil) }), bareAndPeers},
		{"fenced_pair", pairOf(func(c *primitives.Client, name string) locker { return c.NewFencedLock(name, nil) }), bareAlone},
		{"fair_pair", pairOf(func(c *primitives.Client, name string) locker { return c.NewFairLock(name, nil) }), bareAlone},
		{"read_pair", pairOf(func(c *primitives.Client, name string) locker {
			return c.NewReadWriteLock(name, nil).ReadLock()
		}), bareAlone},
		{"write_pair", pairOf(func(c *primitives.Client, name string) locker {
			return c.NewReadWriteLock(name, nil).WriteLock()
		}), bareAlone},
		{"semaphore_pair", semaphorePair, bareAlone},
		{"permit_pair", permitPair, bareAlone},
		{"counting_pair", countingPair(primitives.ByTime), bareAlone},
		{"arrival_pair", countingPair(primitives.ByArrival), bareAlone},
		{"rate_pair", ratePair, bareAlone},
		{"long_add", longAdd, bareAlone},
		{"reentry", reentry, nobody},
		{"try_held", tryHeld, bareAlone},
	}
}

// pairs returns the workloads without contention.
func pairs() (all []benchmark.Workload) {
	for _, p := range pairMakers() {
		all = append(all, p.workload())
	}
	return all
}

func (p pair) workload() benchmark.Workload {
	w := benchmark.Workload{
		Name: p.name, Sizes: []int{64, 1, 8, 256}, Unit: "goroutines", Short: 2,
		Subjects: on(func(s *setup) []benchmark.Subject { return s.uncontended(p.make, p.with) }),
	}
	if p.with >= bareAndPeers {
		w.Peers = append(w.Peers, setNX)
	}
	if p.with == bareAndRedisson {
		w.Peers = append(w.Peers, benchmark.Redisson)
	}
	return w
}

type locker = primitives.Locker

var lockPair = pairOf(func(c *primitives.Client, name string) locker { return c.NewLock(name, nil) })

// pairOf makes the pair of Lock and Release.
func pairOf(lockOf func(c *primitives.Client, name string) locker) Maker {
	return func(_ context.Context, c *primitives.Client, name string) (use, error) {
		return leased(lockOf(c, name).Lock), nil
	}
}

func semaphorePair(ctx context.Context, c *primitives.Client, name string) (use, error) {
	s := c.NewSemaphore(name, nil)
	_, err := s.InitPermits(ctx, 1)
	return func(ctx context.Context) error {
		if err := s.Acquire(ctx, 1); err != nil {
			return err
		}
		return s.Release(ctx, 1)
	}, err
}

// leased makes the pair of an acquire and the release of its lease.
func leased(acquire func(ctx context.Context) (*primitives.Lease, error)) use {
	return func(ctx context.Context) error {
		lease, err := acquire(ctx)
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}
}

func permitPair(ctx context.Context, c *primitives.Client, name string) (use, error) {
	s := c.NewPermitSemaphore(name, nil)
	_, err := s.InitPermits(ctx, 1)
	return leased(func(ctx context.Context) (*primitives.Lease, error) { return s.Acquire(ctx, 1) }), err
}

func countingPair(order primitives.CountingOrder) Maker {
	return func(_ context.Context, c *primitives.Client, name string) (use, error) {
		return leased(c.NewCountingSemaphore(name, 1, &primitives.CountingSemaphoreOptions{Order: order}).Acquire), nil
	}
}

func ratePair(ctx context.Context, c *primitives.Client, name string) (use, error) {
	l := c.NewRateLimiter(name, primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse()})
	_, err := l.InitRate(ctx, primitives.Rate{Permits: 100, Interval: time.Hour})
	return func(ctx context.Context) error {
		if err := l.Wait(ctx, 1); err != nil {
			return err
		}
		return l.Return(ctx, 1)
	}, err
}

func longAdd(_ context.Context, c *primitives.Client, name string) (use, error) {
	long := c.NewAtomicLong(name)
	return func(ctx context.Context) error {
		_, err := long.Add(ctx, 1)
		return err
	}, nil
}

// reentry enters a lock that is held once more, and leaves it: holds are counted here.
func reentry(ctx context.Context, c *primitives.Client, name string) (use, error) {
	lock := c.NewLock(name, nil)
	lease, err := lock.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		inner, err := lock.Lock(lease.Reenter(ctx))
		if err != nil {
			return err
		}
		return inner.Release(ctx)
	}, nil
}

// tryHeld is refused.
func tryHeld(ctx context.Context, c *primitives.Client, name string) (use, error) {
	lock := c.NewLock(name, nil)
	lease, err := lock.Lock(ctx)
	return func(ctx context.Context) error {
		if _, err := lock.TryLock(ctx); !errors.Is(err, primitives.ErrNotAcquired) {
			return errors.Join(errors.New("a lock that is held was not refused"), err, lease.Err())
		}
		return nil
	}, err
}

// uncontended returns this library, the bare driver, and peers.
func (s *setup) uncontended(object Maker, with partners) []benchmark.Subject {
	driver := s.Open(false)
	client := s.NewClient(driver.Backend)
	all := []benchmark.Subject{{Name: "hasp", Turn: ForAWhile(s.Turn, s.make(client, object, "hasp"))}}
	if with != nobody {
		all = append(all, benchmark.Subject{Name: "bare", Turn: ForAWhile(s.Turn, s.bare(driver, client, object))})
	}
	if with >= bareAndPeers {
		if driver.Send != nil && slices.Contains(s.Peers, setNX) {
			all = append(all, benchmark.Subject{Name: setNX, Turn: ForAWhile(s.Turn, s.peerPairs(setNX, s.setNXLocks()))})
		}
		for _, p := range s.peers(false) {
			uses := s.peerPairs(p.Name, p.Open(s.Setup, false))
			all = append(all, benchmark.Subject{Name: p.Name, Turn: ForAWhile(s.Turn, uses)})
		}
	}
	if with == bareAndRedisson {
		all = append(all, s.redisson(true, s.Turn)...)
	}
	return all
}

// make makes so many objects as the size says.
func (s *setup) make(client *primitives.Client, object Maker, kind string) (uses []use) {
	for i := range s.Size {
		call, err := object(context.Background(), client, named(kind, i))
		s.Must(err)
		uses = append(uses, call)
	}
	return uses
}

// bare returns what replays the commands of an object's use on others like it.
func (s *setup) bare(driver *benchmark.Client, client *primitives.Client, object Maker) (uses []use) {
	sends := s.record(driver, object, recorded)
	for i := range s.make(client, object, "bare") {
		uses = append(uses, replay(driver, sends, named("bare", i)))
	}
	return uses
}

// peerPairs returns the pairs of a peer.
func (s *setup) peerPairs(kind string, lockOf func(name string) benchmark.Lock) []use {
	uses := make([]use, s.Size)
	for i := range uses {
		lock := lockOf(named(kind, i))
		uses[i] = func(ctx context.Context) error {
			unlock, err := lock(ctx)
			if err != nil {
				return err
			}
			return unlock(ctx)
		}
	}
	return uses
}

// recorded is the object of which the bare commands are.
const recorded = "recorded"

// recorder notes the scripts that run.
type recorder struct {
	backend.Backend
	mu    sync.Mutex
	calls []backend.Call
}

// Run implements [backend.ScriptRunner].
func (r *recorder) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	r.mu.Lock()
	r.calls = append(r.calls, backend.Call{Script: script, Keys: slices.Clone(keys), Args: slices.Clone(args)})
	r.mu.Unlock()
	return r.Backend.Run(ctx, script, keys, args)
}

// record returns the scripts that a use of an object comes to, whose name has recorded in it. It is the second use:
// the first acquire of a client also checks the permissions of the release.
func (s *setup) record(driver *benchmark.Client, object Maker, name string) []backend.Call {
	r := &recorder{Backend: driver.Backend}
	client, err := primitives.New(r, nil)
	s.Must(err)
	call, err := object(context.Background(), client, name)
	s.Must(err)
	s.Must(call(context.Background()))
	r.mu.Lock()
	r.calls = nil
	r.mu.Unlock()
	s.Must(call(context.Background()))
	r.mu.Lock()
	calls := r.calls
	r.mu.Unlock()
	s.Must(client.Close(context.Background()))
	return calls
}

// replay sends what was recorded, for the object called name, by the driver alone.
func replay(driver *benchmark.Client, sends []backend.Call, name string) use {
	calls := make([]use, len(sends))
	for i, call := range sends {
		calls[i] = bareCall(driver, call.Script, renamed(call.Keys, name), renamed(call.Args, name))
	}
	return func(ctx context.Context) error {
		for _, call := range calls {
			if err := call(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// bareCall sends a script, or the command that stands for it. Where no driver is, the backend runs it.
func bareCall(driver *benchmark.Client, script *backend.Script, keys, args []string) use {
	if driver.Send == nil {
		return func(ctx context.Context) error {
			_, err := driver.Backend.Run(ctx, script, keys, args)
			return err
		}
	}
	words := []string{script.Command}
	if script.Command == "" {
		words = []string{"EVALSHA", script.SHA1, strconv.Itoa(len(keys))}
	}
	words = slices.Concat(words, keys, args)
	return func(ctx context.Context) error { return driver.Send(ctx, words...) }
}

// renamed returns words that were recorded, for the object called name.
func renamed(words []string, name string) []string {
	words = slices.Clone(words)
	for i := range words {
		words[i] = strings.Replace(words[i], recorded, name, 1)
	}
	return words
}
