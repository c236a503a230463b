package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// atomicCases are about numbers that processes share.
func atomicCases() []Case {
	return []Case{
		{Name: "AtomicLongIsExact", Clause: "Atomic.Exact", check: checkLongExact},
		{Name: "AtomicLongCountsTogether", Clause: "Atomic.Exact", check: checkLongTogether},
		{Name: "AtomicLongOfNothing", Clause: "Atomic.Exact", check: checkLongMissing},
		{Name: "AtomicLongOverflow", Clause: "Atomic.Errors", check: checkLongOverflow},
		{Name: "AtomicLongConflict", Clause: "Atomic.Errors", check: checkLongConflict},
		{Name: "AtomicLongLife", Clause: "Atomic.Life", check: checkLongLife},
		{
			Name: "AtomicLongTakesOneRoundTrip", Clause: "Atomic.RoundTrip",
			needs: []need{needsRecord}, check: checkLongRoundTrips,
		},
		{
			Name: "AtomicLongLostAnswerIsUnknown", Clause: "Atomic.Errors",
			needs: []need{needsLink}, check: checkLongLost,
		},
		{Name: "AtomicDoubleFollowsFloat64", Clause: "Atomic.Exact", check: checkDouble},
		{Name: "AtomicDoubleErrors", Clause: "Atomic.Errors", check: checkDoubleErrors},
	}
}

// edges are the numbers around which implementations lose digits.
var edges = []int64{
	0, 1, -1, 1 << 31, -1 << 31, 1 << 53, 1<<53 + 1, -1<<53 - 1, 999_999_999_999_999_999,
	1_000_000_000_000_000_000, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64 + 1, math.MinInt64,
}

// nearEdge draws a number at or near an edge.
func nearEdge(rng *rand.Rand) int64 { return besides(rng, edges[rng.IntN(len(edges))]) }

// besides draws a number at or near another.
func besides(rng *rand.Rand, n int64) int64 {
	by := int64(rng.IntN(5)) - 2
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return n
	}
	return n + by
}

// checkLongExact runs a random program at the edges of int64 beside math/big.
func checkLongExact(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	seed := rand.Uint64()                 //nolint:gosec // A program, no secret.
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // A program, no secret.
	p := &longProgram{number: c.NewAtomicLong(e.key("long")), value: new(big.Int)}
	for step := range 400 {
		if err := p.step(ctx, rng); err != nil {
			return fmt.Errorf("seed %d, step %d, at %v: %w", seed, step, p.value, err)
		}
	}
	return nil
}

// longProgram is a number and what it has to be.
type longProgram struct {
	number *primitives.AtomicLong
	value  *big.Int
}

func (p *longProgram) step(ctx context.Context, rng *rand.Rand) error {
	a, b := nearEdge(rng), nearEdge(rng)
	if rng.IntN(2) == 0 {
		a = besides(rng, p.value.Int64()) // where comparisons lose digits
	}
	was := p.value.Int64()
	switch rng.IntN(9) {
	case 0:
		return p.add(ctx, b)
	case 1:
		return p.becomes(a, p.number.Store(ctx, a))
	case 2:
		return p.becomes(b, expect("Swap", was)(p.number.Swap(ctx, b)))
	case 3:
		return p.becomes(0, expect("LoadAndDelete", was)(p.number.LoadAndDelete(ctx)))
	case 4:
		return p.becomesIf(was == a, b,
			expect("CompareAndSwap", was == a)(p.number.CompareAndSwap(ctx, a, b)))
	case 5:
		return p.becomesIf(was < a, b, expect("StoreIfLess", was < a)(p.number.StoreIfLess(ctx, a, b)))
	case 6:
		return p.becomesIf(was > a, b,
			expect("StoreIfGreater", was > a)(p.number.StoreIfGreater(ctx, a, b)))
	case 7:
		return p.addOne(ctx, rng.IntN(2) == 0)
	}
	return expect("Load", was)(p.number.Load(ctx))
}

// add adds beyond the range of int64, too, where nothing may change.
func (p *longProgram) add(ctx context.Context, delta int64) error {
	sum := new(big.Int).Add(p.value, big.NewInt(delta))
	if !sum.IsInt64() {
		_, err := p.number.Add(ctx, delta)
		return errors.Join(matches(err, primitives.ErrOverflow), p.becomes(p.value.Int64(), nil))
	}
	was := p.value.Int64()
	if delta%2 == 0 {
		return p.becomes(sum.Int64(), expect("LoadAndAdd", was)(p.number.LoadAndAdd(ctx, delta)))
	}
	return p.becomes(sum.Int64(), expect("Add", sum.Int64())(p.number.Add(ctx, delta)))
}

func (p *longProgram) addOne(ctx context.Context, up bool) error {
	was := p.value.Int64()
	switch {
	case up && was < math.MaxInt64:
		return p.becomes(was+1, expect("Increment", was+1)(p.number.Increment(ctx)))
	case !up && was > math.MinInt64:
		return p.becomes(was-1, expect("Decrement", was-1)(p.number.Decrement(ctx)))
	}
	return nil
}

func (p *longProgram) becomes(value int64, err error) error {
	p.value.SetInt64(value)
	return err
}

func (p *longProgram) becomesIf(ok bool, value int64, err error) error {
	if ok {
		p.value.SetInt64(value)
	}
	return err
}

func checkLongTogether(ctx context.Context, e *env) error {
	clients, err := e.newClients(ctx, 3)
	if err != nil {
		return err
	}
	failed := make([]error, 12)
	var all sync.WaitGroup
	for i := range failed {
		n := clients[i%len(clients)].NewAtomicLong(e.key("long"))
		all.Go(func() {
			for range 20 {
				_, err := n.Add(ctx, int64(i))
				failed[i] = errors.Join(failed[i], err)
			}
		})
	}
	all.Wait()
	return errors.Join(errors.Join(failed...), e.wantText(ctx, e.key("long"), fmt.Sprint(20*66)))
}

// checkLongMissing asks everything of a number that does not exist, which is 0.
func checkLongMissing(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	fresh := 0
	number := func() *primitives.AtomicLong {
		fresh++
		return c.NewAtomicLong(e.key(fmt.Sprint("long", fresh)))
	}
	return errors.Join(
		expect("Load", int64(0))(number().Load(ctx)),
		expect("Exists", false)(number().Exists(ctx)),
		expect("Delete", false)(number().Delete(ctx)),
		expect("Add", int64(7))(number().Add(ctx, 7)),
		expect("Decrement", int64(-1))(number().Decrement(ctx)),
		expect("LoadAndAdd", int64(0))(number().LoadAndAdd(ctx, 7)),
		expect("Swap", int64(0))(number().Swap(ctx, 7)),
		expect("LoadAndDelete", int64(0))(number().LoadAndDelete(ctx)),
		expect("CompareAndSwap of 0", true)(number().CompareAndSwap(ctx, 0, 7)),
		expect("CompareAndSwap of 1", false)(number().CompareAndSwap(ctx, 1, 7)),
		expect("StoreIfLess", true)(number().StoreIfLess(ctx, 1, 7)),
		expect("StoreIfGreater", false)(number().StoreIfGreater(ctx, 0, 7)),
	)
}

func checkLongOverflow(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	n := c.NewAtomicLong(e.key("long"))
	if err := n.Store(ctx, math.MaxInt64); err != nil {
		return err
	}
	_, up := n.Increment(ctx)
	if err := errors.Join(
		matches(up, primitives.ErrOverflow), e.wantText(ctx, n.Name(), fmt.Sprint(int64(math.MaxInt64))),
		n.Store(ctx, math.MinInt64),
	); err != nil {
		return err
	}
	_, down := n.Add(ctx, math.MinInt64)
	return errors.Join(
		matches(down, primitives.ErrOverflow),
		e.wantText(ctx, n.Name(), fmt.Sprint(int64(math.MinInt64))))
}

// checkLongConflict gives the name to a lock, and to texts that are no whole number.
func checkLongConflict(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lease, err := c.NewLock(e.key("lock"), nil).Lock(ctx)
	if err != nil {
		return err
	}
	n := c.NewAtomicLong(e.key("lock"))
	_, addErr := n.Add(ctx, 1)
	_, deleteErr := n.Delete(ctx)
	if err := errors.Join(
		matches(addErr, primitives.ErrConflict), matches(deleteErr, primitives.ErrConflict),
		allConflict(longCalls(ctx, n)),
	); err != nil {
		return err
	}
	if !strings.Contains(addErr.Error(), "atomic long") || !strings.Contains(addErr.Error(), "hash") {
		return fmt.Errorf("the error does not name both kinds: %w", addErr)
	}
	for _, text := range []string{"1.5", "", "abc", "9223372036854775808"} {
		if err := e.refusesText(ctx, c.NewAtomicLong(e.key("text")), text); err != nil {
			return err
		}
	}
	return lease.Unlock(ctx)
}

// longCalls makes each call of a number once.
func longCalls(ctx context.Context, n *primitives.AtomicLong) map[string]error {
	all := map[string]error{"Store": n.Store(ctx, 7)}
	_, all["Load"] = n.Load(ctx)
	_, all["Add"] = n.Add(ctx, 1)
	_, all["Swap"] = n.Swap(ctx, 7)
	_, all["LoadAndDelete"] = n.LoadAndDelete(ctx)
	_, all["CompareAndSwap"] = n.CompareAndSwap(ctx, 1, 2)
	_, all["StoreIfLess"] = n.StoreIfLess(ctx, math.MaxInt64, 2)
	_, all["StoreIfGreater"] = n.StoreIfGreater(ctx, math.MinInt64, 2)
	return all
}

// allConflict returns an error unless each call was refused, for what its key holds.
func allConflict(calls map[string]error) error {
	var errs []error
	for name, err := range calls {
		if err := matches(err, primitives.ErrConflict); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (e *env) refusesText(ctx context.Context, n *primitives.AtomicLong, text string) error {
	if err := e.do(ctx, "SET", n.Name(), text); err != nil {
		return err
	}
	if err := allConflict(longCalls(ctx, n)); err != nil {
		return fmt.Errorf("over %q: %w", text, err)
	}
	got, err := e.Do(ctx, n.Name(), "GET", n.Name())
	if err != nil || !same(got, backend.StringReply(text)) {
		return fmt.Errorf("%q became %v, %w", text, got, err)
	}
	return nil
}

// checkLongLife: what depends on the number keeps its end, what replaces it does not.
func checkLongLife(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	n := c.NewAtomicLong(e.key("long"))
	change := func(f func() error) func() error { return f }
	for what, f := range map[string]struct {
		run   func() error
		keeps bool
	}{
		"Add":            {change(func() error { _, err := n.Add(ctx, 1); return err }), true},
		"CompareAndSwap": {func() error { return expect("", true)(n.CompareAndSwap(ctx, 5, 6)) }, true},
		"StoreIfLess":    {func() error { return expect("", true)(n.StoreIfLess(ctx, 6, 4)) }, true},
		"StoreIfGreater": {func() error { return expect("", true)(n.StoreIfGreater(ctx, 4, 7)) }, true},
		"Store":          {func() error { return n.Store(ctx, 9) }, false},
		"Swap":           {func() error { _, err := n.Swap(ctx, 9); return err }, false},
	} {
		if err := errors.Join(
			n.Store(ctx, 5), expect("Expire", true)(n.Expire(ctx, time.Hour)), f.run(),
		); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		left, err := n.RemainingLife(ctx)
		if err != nil || (left != primitives.NoExpiry) != f.keeps {
			return fmt.Errorf("after %s %v of an hour are left, %w", what, left, err)
		}
	}
	return nil
}

// checkLongRoundTrips counts what is sent, by scripts that are loaded.
func checkLongRoundTrips(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	n := c.NewAtomicLong(e.key("long"))
	calls := []func() error{
		func() error { _, err := n.Load(ctx); return err },
		func() error { return n.Store(ctx, 1) },
		func() error { _, err := n.Add(ctx, 1); return err },
		func() error { _, err := n.Swap(ctx, 1); return err },
		func() error { _, err := n.LoadAndDelete(ctx); return err },
		func() error { _, err := n.CompareAndSwap(ctx, 1, 2); return err },
		func() error { _, err := n.StoreIfLess(ctx, 1, 2); return err },
		func() error { _, err := n.StoreIfGreater(ctx, 1, 2); return err },
	}
	all := func() (err error) {
		for _, call := range calls {
			err = errors.Join(err, call())
		}
		return err
	}
	if err := all(); err != nil {
		return err
	}
	stop, err := e.Record(ctx)
	if err != nil {
		return err
	}
	err = all()
	commands, stopErr := stop()
	sent := matching(commands, e.tag)
	if len(sent) != len(calls) {
		err = errors.Join(err, fmt.Errorf("%d calls took %d commands: %q", len(calls), len(sent), sent))
	}
	for i, name := range map[int]string{0: "GET", 2: "INCRBY"} {
		if err == nil && !isCommand(sent[i], name) {
			err = fmt.Errorf("sent %q, want %s", sent[i], name)
		}
	}
	return errors.Join(err, stopErr)
}

func checkLongLost(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	n := c.NewAtomicLong(e.key("long"))
	if _, err := n.Add(ctx, 1); err != nil {
		return err
	}
	lost := in.Link.CutReply(func(words []string) bool { return isCommand(words, "INCRBY") })
	_, err = n.Add(ctx, 1)
	if err := matches(err, backend.ErrIndeterminate); err != nil {
		return err
	}
	<-lost
	return e.wantText(ctx, n.Name(), "2")
}
