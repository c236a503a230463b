package mutants

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

func gapMutants() []mutant {
	return []mutant{
		{"reports no gap", oneServer,
			"BrokenConnectionIsAGap KilledConnectionIsAGap SilentLinkIsAGap RepeatedBreaksAreGaps RestartIsAGap", onEvents(noGaps)},
		{"reports no gap when a slot moves", cluster, "MovedSlotIsAGap", onEvents(noGaps)},
		{"stays with a primary that was replaced", sentinel, "IsolatedPrimaryIsAGap", subscribeToTheFirstPrimary},
		{"is deaf after a gap", oneServer, "BrokenConnectionIsAGap",
			onEvents(func(h backend.Handler) backend.Handler {
				var deaf atomic.Bool
				return func(event backend.Event) {
					gap := event.Kind == backend.EventResubscribed
					if gap || !deaf.Load() {
						h(event)
					}
					if gap {
						deaf.Store(true)
					}
				}
			})},
		{"drops messages silently", embedded, "SlowHandlerHearsOfDrops",
			onEvents(func(h backend.Handler) backend.Handler {
				var n atomic.Int64
				return func(event backend.Event) {
					if n.Add(1) <= 1000 {
						h(event)
					}
				}
			})},
	}
}

func noGaps(h backend.Handler) backend.Handler {
	return func(event backend.Event) {
		if event.Kind != backend.EventResubscribed {
			h(event)
		}
	}
}

// subscribeToTheFirstPrimary subscribes by a client of the server that is the primary now, and goes on to be.
func subscribeToTheFirstPrimary(b *broken) {
	first := sync.OnceValues(func() (in *conformance.Instance, err error) {
		return in, must.Catch(func() {
			ctx := context.Background()
			pair := must.Get(must.Get(b.harness.Do(ctx, "", "CONFIG", "GET", "port")).Tuple(2))
			c := cells.At("127.0.0.1:" + must.Get(pair[1].Text()))
			c.Dial = b.instance.Link.(*proxy.Proxy).DialContext
			in = must.Get(cells.Named("Rueidis").Open(ctx, c))
		})
	})
	_, _ = first() // While the link is well; Subscribe returns the error.
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
		in, err := first()
		if err != nil {
			return nil, err
		}
		return in.Backend.Subscribe(ctx, channel, h)
	}
	b.close = func() error {
		if in, err := first(); err == nil {
			_ = in.Backend.Close()
			in.Close()
		}
		return b.Backend.Close()
	}
}

func shareMutants() []mutant {
	return []mutant{
		{"opens a connection for each of the first subscriptions", oneServer, "SubscriptionsShareAConnection", connectionEach},
		{"calls all handlers one after the other", embedded, "SlowHandlerDelaysNobody",
			func(b *broken) {
				var one sync.Mutex
				onEvents(func(h backend.Handler) backend.Handler {
					return func(event backend.Event) {
						one.Lock()
						defer one.Unlock()
						h(event)
					}
				})(b)
			}},
		{"ends all subscriptions of a channel with one", embedded, "CancelLeavesOthersAlone", cancelAll},
		{"ends a subscription that is being made with another", embedded, "CancelLeavesNewOnesAlone",
			onSubscribe(cancelNew)},
	}
}

// connectionEach keeps a second connection for each of the first subscriptions. More of them would
// only take time: each is of a new client.
func connectionEach(b *broken) {
	good := b.subscribe
	var opened atomic.Int32
	var mu sync.Mutex
	var extra []func()
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
		sub, err := good(ctx, channel, h)
		if err != nil || opened.Add(1) > 4 {
			return sub, err
		}
		in, err := b.harness.New(ctx)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		extra = append(extra, func() { _ = in.Backend.Close(); in.Close() })
		_, err = in.Backend.Subscribe(ctx, channel+"'", func(backend.Event) {})
		return sub, err
	}
	b.close = func() error {
		mu.Lock()
		defer mu.Unlock()
		for _, end := range extra {
			end()
		}
		extra = nil
		return b.Backend.Close()
	}
}

// cancelAll cancels whatever is subscribed to a channel.
func cancelAll(b *broken) {
	var mu sync.Mutex
	subs := map[string][]backend.Subscription{}
	onSubscription(func(_ context.Context, channel string, sub backend.Subscription) backend.Subscription {
		mu.Lock()
		defer mu.Unlock()
		subs[channel] = append(subs[channel], sub)
		return canceler(func() {
			mu.Lock()
			defer mu.Unlock()
			for _, sub := range subs[channel] {
				sub.Cancel()
			}
			delete(subs, channel)
		})
	})(b)
}

// cancelNew loses a subscription that is being made while another is cancelled.
func cancelNew(good subscribeFunc) subscribeFunc {
	var cancels atomic.Int64
	return func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
		before := cancels.Load()
		sub, err := good(ctx, channel, h)
		if err != nil {
			return nil, err
		}
		time.Sleep(5 * time.Millisecond)
		if cancels.Load() != before {
			sub.Cancel()
		}
		return canceler(func() { cancels.Add(1); sub.Cancel() }), nil
	}
}
