package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// This file and kinds_test.go are also compiled in the checkout of the other version: they use only what both have.

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// TestPeer is the child of other tests: a process of one version of hasp. It reads orders, "number verb kind name", and
// says "number answer" for each. An order that waits delays no other.
func TestPeer(t *testing.T) {
	args, orders := cells.AsChild(t)
	lease, err := time.ParseDuration(args[1])
	require.NoError(t, err)
	opts := &primitives.Options{WatchdogLease: lease, PollInterval: time.Hour}
	p := &peer{client: cells.Named("GoRedis").Primitives(t, cells.At(args[0]), opts), calls: map[string]*call{}}
	cells.Say("0 ready")
	for order := range orders {
		words := strings.Fields(order)
		c := p.call(t.Context(), words[0])
		go func() { cells.Say(words[0], p.answer(c, words[1], words[2], words[3])) }()
	}
}

// peer is a process of one version.
type peer struct {
	client *primitives.Client

	mu    sync.Mutex
	calls map[string]*call // by the orders' numbers
}

// call is what came of an order: a hold, if it was to acquire.
type call struct {
	hold
	ctx    context.Context //nolint:containedctx // It ends by another order.
	cancel context.CancelFunc
}

// call returns the call of an order, a new one if there is none.
func (p *peer) call(ctx context.Context, number string) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[number] == nil {
		ctx, cancel := context.WithCancel(ctx)
		p.calls[number] = &call{ctx: ctx, cancel: cancel}
	}
	return p.calls[number]
}

// answer obeys an order. The name of a release, and of an order to cancel, is the number of the order to acquire.
func (p *peer) answer(c *call, verb, kind, name string) string {
	switch verb {
	case "acquire", "try":
		h, err := kinds[kind](c.ctx, p.client, name, verb == "try")
		if c.hold = h; errors.Is(err, primitives.ErrNotAcquired) {
			return "refused"
		}
		return said(fmt.Sprint("granted ", h.token), err)
	case "release":
		return said("released", p.call(c.ctx, name).release(c.ctx))
	case "cancel":
		p.call(c.ctx, name).cancel()
		return "cancelled"
	}
	return calls[verb](c.ctx, p.client, name)
}

// said returns a text, or an error's, on one line.
func said(text string, err error) string {
	if err != nil {
		text = "failed: " + err.Error()
	}
	return strings.Join(slices.Collect(strings.SplitSeq(text, "\n")), " ")
}
