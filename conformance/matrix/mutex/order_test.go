package mutex

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
	"github.com/hasp-go/hasp/primitives"
)

// arrivals knows in which order callers were served, and who waited already when each of them came.
type arrivals struct {
	waiting func() []string // the owners in the queue

	noting sync.Mutex
	tokens map[string]int64   // of the owners that were granted the mutex
	before map[int64][]string // who waited when the owner came that was granted it by this token
}

// note notes a grant to a caller, and who waited when that came.
func (a *arrivals) note(lease *primitives.Lease, before []string) {
	a.noting.Lock()
	defer a.noting.Unlock()
	if a.tokens == nil {
		a.tokens, a.before = map[string]int64{}, map[int64][]string{}
	}
	a.tokens[lease.Owner()] = lease.Token()
	a.before[lease.Token()] = before
}

// requireOrder requires that each was served after all who waited when it came, but for those who gave up. It
// returns how many pairs were compared.
func (a *arrivals) requireOrder(t *testing.T) (pairs int) {
	t.Helper()
	for token, before := range a.before {
		for _, owner := range before {
			if earlier, granted := a.tokens[owner]; granted {
				require.Less(t, earlier, token, "%s waited already", owner)
				pairs++
			}
		}
	}
	return pairs
}

// TestServedInOrderOverBadLinks has 24 callers of 8 clients on a server whose links are cut, are silent for up to
// 300 ms, are slow, or lose a reply, one after the other. A sign of life is worth ten seconds, so that nobody loses
// its place. Nobody is served before one who waited already when it came, and never are two in.
func TestServedInOrderOverBadLinks(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s := start(t)
	in := &section{turns: 160, leases: []time.Duration{0}}
	in.waiting = func() []string { return s.Texts(t, "ZRANGE", queue, "0", "-1") }
	var links []*proxy.Proxy
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range 8 {
		links = append(links, proxy.Start(t, s.Addr(), nil))
		adapter := cells.Adapters()[i%len(cells.Adapters())]
		client := adapter.Primitives(t, cells.At(links[i].Addr()), nil)
		for range 3 {
			all.Go(func() { useMutex(ctx, t, client, in, i%2 == 0) })
		}
	}
	troubled, end := context.WithCancel(ctx)
	ended := make(chan int)
	go func() { ended <- trouble(troubled, links) }()
	all.Wait()
	end()
	faults, pairs := <-ended, in.requireOrder(t)
	t.Logf("%d grants, %d faults, %d pairs in order", in.grants, faults, pairs)
	require.GreaterOrEqual(t, in.grants, 24*in.turns*9/10)
	require.Greater(t, pairs, in.grants)
	s.Await(t, "nothing is left", func() bool { return s.Number(t, "EXISTS", key, queue, signs) == 0 })
}

// trouble disturbs one of the links after the other until ctx ends, and returns how often.
func trouble(ctx context.Context, links []*proxy.Proxy) (faults int) {
	for ; ctx.Err() == nil; faults++ {
		link, lasts := links[rand.IntN(len(links))], rand.N(300*time.Millisecond) //nolint:gosec // A fault.
		switch faults % 4 {
		case 0:
			link.Cut()
		case 1:
			link.Blackhole()
		case 2:
			link.Delay(20 * time.Millisecond)
		case 3:
			link.CutReply(func(words []string) bool { return words[0] == "EVALSHA" })
		}
		select {
		case <-time.After(lasts):
		case <-ctx.Done():
		}
		link.Restore()
	}
	return faults
}
