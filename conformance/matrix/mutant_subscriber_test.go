package matrix

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
)

// subscriptionFunc is a subscription that is cancelled by a function.
type subscriptionFunc func()

func (f subscriptionFunc) Cancel() { f() }

// changeEvents puts change between each subscription and its handler.
func changeEvents(b *broken, change func(h backend.Handler) backend.Handler) {
	good := b.subscribe
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (
		backend.Subscription, error,
	) {
		return good(ctx, channel, change(h))
	}
}

// changeCancel replaces what Cancel does.
func changeCancel(b *broken, change func(sub backend.Subscription) func()) {
	good := b.subscribe
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (
		backend.Subscription, error,
	) {
		sub, err := good(ctx, channel, h)
		if err != nil {
			return nil, err
		}
		return subscriptionFunc(change(sub)), nil
	}
}

func subscribeMutants() []mutant {
	return []mutant{
		{
			name: "fails otherwise where it has no pub/sub", base: onNoPubSub,
			kills: []string{"SubscribeWithoutPubSubIsRefused"}, breakIt: func(b *broken) {
				b.subscribe = func(context.Context, string, backend.Handler) (
					backend.Subscription, error,
				) {
					return nil, errors.New("no")
				}
			},
		},
		{
			name:  "does not wait for the server's acknowledgement",
			kills: []string{"SubscribeWaitsForTheServer"}, breakIt: subscribeLater,
		},
		{
			name:  "delivers in another order",
			kills: []string{"MessagesArriveInOrder"}, breakIt: func(b *broken) {
				changeEvents(b, swapSome)
			},
		},
		{
			name:  "ends messages at a zero byte",
			kills: []string{"MessageBytesSurvive"}, breakIt: func(b *broken) {
				changeEvents(b, func(h backend.Handler) backend.Handler {
					return func(event backend.Event) {
						event.Payload, _, _ = strings.Cut(event.Payload, "\x00")
						h(event)
					}
				})
			},
		},
		{
			name:  "subscribes under an ended context",
			kills: []string{"SubscribeHeedsEndedContext"}, breakIt: func(b *broken) {
				subscribeDeaf(b, func(ctx context.Context) bool { return ctx.Err() != nil })
			},
		},
		{
			name: "ignores the end of the context while it subscribes", base: onServer,
			kills: []string{"SubscribeHeedsContext"}, breakIt: func(b *broken) {
				subscribeDeaf(b, func(ctx context.Context) bool { return ctx.Err() == nil })
			},
		},
		{
			name:  "ends the subscription with Subscribe's context",
			kills: []string{"ContextDoesNotBoundSubscription"}, breakIt: boundByContext,
		},
		{
			name:  "names the wrong command to publish",
			kills: []string{"PublishCommandReachesSubscribers"}, breakIt: func(b *broken) {
				b.can = func(c backend.Capabilities) backend.Capabilities {
					c.Sharded = !c.Sharded
					return c
				}
			},
		},
		{
			name:  "leaves cancelled subscriptions with the server",
			kills: []string{"CancelReleases"}, breakIt: func(b *broken) {
				changeCancel(b, func(backend.Subscription) func() { return func() {} })
			},
		},
		{
			name:  "leaves subscriptions with the server after Close",
			kills: []string{"CloseReleases"}, breakIt: keepSubscriptions,
		},
		{
			name:  "calls handlers after Cancel",
			kills: []string{"NoCallAfterCancel"}, breakIt: func(b *broken) {
				changeCancel(b, func(sub backend.Subscription) func() {
					return func() { time.AfterFunc(10*time.Second, sub.Cancel) }
				})
			},
		},
		{
			name:  "waits for the handler in Cancel",
			kills: []string{"CancelFromTheHandler"}, breakIt: cancelWaits,
		},
		{
			name:  "says something else than that it is closed",
			kills: []string{"SubscribeAfterCloseIsRefused"}, breakIt: func(b *broken) {
				good := b.subscribe
				b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (
					backend.Subscription, error,
				) {
					sub, err := good(ctx, channel, h)
					if errors.Is(err, backend.ErrClosed) {
						err = errors.New("use of closed connection")
					}
					return sub, err
				}
			},
		},
	}
}

// subscribeLater returns from Subscribe before anything is sent.
func subscribeLater(b *broken) {
	good := b.subscribe
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (
		backend.Subscription, error,
	) {
		// A closed backend, or an ended context, is seen without the server.
		if sub, err := good(ctx, channel+"'", func(backend.Event) {}); err != nil {
			return sub, err
		}
		made := make(chan backend.Subscription, 1)
		go func() {
			time.Sleep(5 * time.Millisecond)
			sub, err := good(context.WithoutCancel(ctx), channel, h)
			if err != nil {
				sub = subscriptionFunc(func() {})
			}
			made <- sub
		}()
		return subscriptionFunc(func() { sub := <-made; sub.Cancel(); made <- sub }), nil
	}
}

// swapSome delivers every tenth message after the next, if that comes soon.
func swapSome(h backend.Handler) backend.Handler {
	var mu sync.Mutex
	var held []backend.Event
	flush := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, event := range held {
			h(event)
		}
		held = nil
	}
	n := 0
	return func(event backend.Event) {
		mu.Lock()
		n++
		if n%10 == 5 {
			held = append(held, event)
			mu.Unlock()
			time.AfterFunc(50*time.Millisecond, flush)
			return
		}
		h(event)
		mu.Unlock()
		flush()
	}
}

func subscribeDeaf(b *broken, when func(ctx context.Context) bool) {
	good := b.subscribe
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (
		backend.Subscription, error,
	) {
		if when(ctx) {
			ctx = context.WithoutCancel(ctx)
		}
		return good(ctx, channel, h)
	}
}

func boundByContext(b *broken) {
	good := b.subscribe
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (
		backend.Subscription, error,
	) {
		sub, err := good(ctx, channel, h)
		if err == nil {
			context.AfterFunc(ctx, sub.Cancel)
		}
		return sub, err
	}
}

// keepSubscriptions subscribes on a backend that nobody closes before the client.
func keepSubscriptions(b *broken) {
	hidden, err := b.harness.New(context.Background())
	if err != nil {
		return
	}
	b.subscribe = hidden.Backend.Subscribe
	time.AfterFunc(2*time.Minute, func() { _ = hidden.Backend.Close() })
}

// cancelWaits makes Cancel wait until no handler runs.
func cancelWaits(b *broken) {
	good := b.subscribe
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (
		backend.Subscription, error,
	) {
		var running sync.Mutex
		sub, err := good(ctx, channel, func(event backend.Event) {
			running.Lock()
			defer running.Unlock()
			h(event)
		})
		if err != nil {
			return nil, err
		}
		return subscriptionFunc(func() {
			running.Lock()
			defer running.Unlock()
			sub.Cancel()
		}), nil
	}
}

func gapMutants() []mutant {
	return []mutant{
		{
			name: "reports no gap", base: onServer,
			kills: []string{
				"BrokenConnectionIsAGap", "KilledConnectionIsAGap", "SilentLinkIsAGap",
				"RepeatedBreaksAreGaps", "RestartIsAGap",
			},
			breakIt: func(b *broken) { changeEvents(b, noGaps) },
		},
		{
			name: "reports no gap when a slot moves", base: onCluster,
			kills:   []string{"MovedSlotIsAGap"},
			breakIt: func(b *broken) { changeEvents(b, noGaps) },
		},
		{
			name: "stays with a primary that was replaced", base: onSentinel,
			kills:   []string{"IsolatedPrimaryIsAGap"},
			breakIt: subscribeToTheFirstPrimary,
		},
		{
			name: "is deaf after a gap", base: onServer,
			kills: []string{"BrokenConnectionIsAGap"},
			breakIt: func(b *broken) {
				changeEvents(b, func(h backend.Handler) backend.Handler {
					var deaf atomic.Bool
					return func(event backend.Event) {
						gap := event.Kind == backend.Resubscribed
						if gap || !deaf.Load() {
							h(event)
						}
						if gap {
							deaf.Store(true)
						}
					}
				})
			},
		},
		{
			name:  "drops messages silently",
			kills: []string{"SlowHandlerHearsOfDrops"}, breakIt: func(b *broken) {
				changeEvents(b, func(h backend.Handler) backend.Handler {
					var n atomic.Int64
					return func(event backend.Event) {
						if n.Add(1) <= 1000 {
							h(event)
						}
					}
				})
			},
		},
	}
}

// subscribeToTheFirstPrimary subscribes by a client of the server that is the primary now, and goes
// on to be.
func subscribeToTheFirstPrimary(b *broken) {
	first := sync.OnceValues(func() (*conformance.Instance, error) {
		ctx := context.Background()
		reply, err := b.harness.Do(ctx, "", "CONFIG", "GET", "port")
		if err != nil {
			return nil, err
		}
		pair, err := reply.Tuple(2)
		if err != nil {
			return nil, err
		}
		port, err := pair[1].Text()
		if err != nil {
			return nil, err
		}
		return openRueidis(ctx, clientOptions{
			addrs: []string{"127.0.0.1:" + port},
			dial: func(ctx context.Context, addr string) (net.Conn, error) {
				return b.instance.Link.(*servers.Wire).DialContext(ctx, "tcp", addr)
			},
		})
	})
	_, _ = first() // While the link is well; Subscribe returns the error.
	b.subscribe = func(
		ctx context.Context, channel string, h backend.Handler,
	) (backend.Subscription, error) {
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

func noGaps(h backend.Handler) backend.Handler {
	return func(event backend.Event) {
		if event.Kind != backend.Resubscribed {
			h(event)
		}
	}
}

func shareMutants() []mutant {
	return []mutant{
		{
			name: "opens a connection for each of the first subscriptions", base: onServer,
			kills: []string{"SubscriptionsShareAConnection"}, breakIt: connectionEach,
		},
		{
			name:  "calls all handlers one after the other",
			kills: []string{"SlowHandlerDelaysNobody"}, breakIt: func(b *broken) {
				var one sync.Mutex
				changeEvents(b, func(h backend.Handler) backend.Handler {
					return func(event backend.Event) {
						one.Lock()
						defer one.Unlock()
						h(event)
					}
				})
			},
		},
		{
			name:  "ends all subscriptions of a channel with one",
			kills: []string{"CancelLeavesOthersAlone"}, breakIt: cancelAll,
		},
		{
			name:  "ends a subscription that is being made with another",
			kills: []string{"CancelLeavesNewOnesAlone"}, breakIt: cancelNew,
		},
	}
}

// connectionEach keeps a second connection for each of the first subscriptions. More of them would
// only take time: each is of a new client.
func connectionEach(b *broken) {
	good := b.subscribe
	var opened atomic.Int32
	var mu sync.Mutex
	var extra []func()
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (
		backend.Subscription, error,
	) {
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
	good := b.subscribe
	var mu sync.Mutex
	subs := map[string][]backend.Subscription{}
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (
		backend.Subscription, error,
	) {
		sub, err := good(ctx, channel, h)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		subs[channel] = append(subs[channel], sub)
		return subscriptionFunc(func() {
			mu.Lock()
			defer mu.Unlock()
			for _, sub := range subs[channel] {
				sub.Cancel()
			}
			delete(subs, channel)
		}), nil
	}
}

// cancelNew loses a subscription that is being made while another is cancelled.
func cancelNew(b *broken) {
	good := b.subscribe
	var mu sync.Mutex
	cancels := 0
	count := func() int { mu.Lock(); defer mu.Unlock(); return cancels }
	b.subscribe = func(ctx context.Context, channel string, h backend.Handler) (
		backend.Subscription, error,
	) {
		before := count()
		sub, err := good(ctx, channel, h)
		if err != nil {
			return nil, err
		}
		time.Sleep(5 * time.Millisecond)
		if count() != before {
			sub.Cancel()
		}
		return subscriptionFunc(func() {
			mu.Lock()
			cancels++
			mu.Unlock()
			sub.Cancel()
		}), nil
	}
}
