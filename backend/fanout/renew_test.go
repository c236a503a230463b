package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

// leaving runs check as bubble does, over links that cannot unsubscribe.
func leaving(t *testing.T, check func(t *testing.T, n *network, hub *fanout.Hub, kept *log)) {
	t.Helper()
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		n.leaves = true
		check(t, n, hub, hear(t, hub, "kept"))
	})
}

// leave subscribes to a channel that is left to the link.
func leave(t *testing.T, hub *fanout.Hub, channel string) {
	t.Helper()
	subscribe(t, hub, channel, func(backend.Event) {}).Cancel()
}

// requireHeld requires that the servers have so many subscriptions, on one link.
func requireHeld(t *testing.T, n *network, want int) {
	t.Helper()
	subs, links := n.subscriptions()
	require.Equal(t, []int{want, 1}, []int{subs, links})
}

// requireHears requires that the next message on kept comes, and that nothing came before it.
func requireHears(t *testing.T, n *network, kept *log) {
	t.Helper()
	seq := n.publish("kept")
	require.Equal(t, []string{fmt.Sprint(seq)}, kept.after(time.Second))
}

func TestLeftChannelsEndWithTheirLink(t *testing.T) {
	leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, kept *log) {
		for i := range 5 {
			leave(t, hub, fmt.Sprint(i))
		}
		settle(9 * time.Second)
		requireHeld(t, n, 6)
		require.Equal(t, 1, n.did("dial a"))
		settle(2 * time.Second)
		requireHeld(t, n, 1)
		settle(time.Minute)
		require.Equal(t, 2, n.did("dial a"), "nothing is left to the second")
		leave(t, hub, "x")
		settle(time.Second)
		requireHeld(t, n, 1)
		require.Equal(t, 3, n.did("dial a"), "the second was old")
		requireHears(t, n, kept)
	})
}

func TestEndIsAtOnce(t *testing.T) {
	leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, kept *log) {
		subscribe(t, hub, "x", func(backend.Event) {}).(backend.Ender).End()
		settle(100 * time.Millisecond)
		requireHeld(t, n, 1)
		requireHears(t, n, kept)
	})
}

func TestLeftChannelsAreBounded(t *testing.T) {
	leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, kept *log) {
		n.delay = time.Microsecond
		for i := range 2500 {
			leave(t, hub, fmt.Sprint(i))
			subs, _ := n.subscriptions()
			require.LessOrEqual(t, subs, 1010)
		}
		settle(time.Second)
		require.Equal(t, 3, n.did("dial a"))
		requireHears(t, n, kept)
	})
}

func TestLinkStaysIfTheNextCannotBeDialed(t *testing.T) {
	leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, kept *log) {
		leave(t, hub, "x")
		n.set(func() { n.down = true })
		settle(time.Minute)
		require.InDelta(t, 7, n.did("dial a"), 1, "each ten seconds")
		requireHears(t, n, kept)
		n.set(func() { n.down = false })
		settle(11 * time.Second)
		requireHeld(t, n, 1)
		requireHears(t, n, kept)
	})
}

// Messages are under way on either link when the next one takes over.
func TestNextLinkLosesNoMessage(t *testing.T) {
	const far = 300 * time.Millisecond
	for _, lags := range [][2]time.Duration{{}, {far, 0}, {0, far}, {far, far}} { // of the two links
		t.Run(fmt.Sprint(lags), func(t *testing.T) {
			leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, _ *log) {
				n.set(func() { n.lag = func(dial int) time.Duration { return lags[dial-2] } })
				n.killAll()
				settle(time.Second)
				got := hear(t, hub, "x")
				leave(t, hub, "left")
				var want []string
				for range 2000 {
					want = append(want, fmt.Sprint(n.publish("x")))
					settle(10 * time.Millisecond)
				}
				require.Equal(t, want, slices.DeleteFunc(got.after(time.Second), func(text string) bool { return text == "gap" }))
				require.Equal(t, 3, n.did("dial a"))
			})
		})
	}
}

// options returns by each option's name what measures it on a hub: in seconds, or in events.
func options(t *testing.T, n *network, opts *fanout.Options) map[string]func() int {
	t.Helper()
	hub, ignore := open(t, n, opts), func(backend.Event) {}
	seconds := func(met func() bool) int {
		begin := time.Now()
		for !met() && time.Since(begin) < time.Minute {
			time.Sleep(time.Millisecond)
		}
		return int(time.Since(begin) / time.Second)
	}
	return map[string]func() int{
		"PingEvery": func() int {
			go func() { _, _ = hub.Subscribe(t.Context(), "x", ignore) }()
			return seconds(func() bool { return n.did("subscribe 1") == 2 })
		},
		"AnswerWithin": func() int {
			n.silent = true
			return seconds(func() bool {
				_, err := hub.Subscribe(t.Context(), "x", ignore)
				return err != nil && strings.Contains(err.Error(), "link silent for ")
			})
		},
		"DialWithin": func() int {
			hub := open(t, hanging{n}, opts)
			return seconds(func() bool { _, err := hub.Subscribe(t.Context(), "x", ignore); return err != nil })
		},
		"SubscribeTimeout": func() int {
			n.down = true
			took := seconds(func() bool { _, err := hub.Subscribe(t.Context(), "x", ignore); return errors.Is(err, errDown) })
			settle(time.Minute)
			dials := n.dials
			settle(time.Minute)
			require.Equal(t, dials, n.dials, "nobody is left to dial for")
			return took
		},
		"IdleTimeout": func() int {
			subscribe(t, hub, "x", ignore).Cancel()
			return seconds(func() bool { _, links := n.subscriptions(); return links == 0 })
		},
		"Queue": func() int {
			_, slow, release := subscribeSlowly(t, hub)
			n.publish("x") // The handler has it.
			settle(time.Second)
			for range 2000 {
				n.publish("x")
			}
			settle(time.Second)
			close(release)
			settle(time.Second)
			return len(slow.take()) - 1
		},
	}
}

// hanging is a network whose links cannot be dialed.
type hanging struct{ *network }

func (hanging) Dial(ctx context.Context, _ string, _ fanout.Events) (fanout.Link, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// with returns options of which one has a value, in seconds if it is a time.
func with(field reflect.StructField, value int) *fanout.Options {
	opts, unit := &fanout.Options{}, int64(1)
	if field.Type == reflect.TypeFor[time.Duration]() {
		unit = int64(time.Second)
	}
	reflect.ValueOf(opts).Elem().FieldByIndex(field.Index).SetInt(int64(value) * unit)
	return opts
}

// TestOptions: each option is heeded, and its default is what its comment says.
func TestOptions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("options.go")
	require.NoError(t, err)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[fanout.Options]()) {
		if field.Name == "_" {
			continue
		}
		said := regexp.MustCompile(`(?s)// ` + field.Name + ` .*?Zero\s(?://\s)?means (\d+)`).FindSubmatch(text)
		require.NotNil(t, said, field.Name)
		byDefault, _ := strconv.Atoi(string(said[1]))
		_, err = fanout.New(newNetwork(), with(field, -1))
		require.ErrorContains(t, err, "fanout: Options."+field.Name+" is -1")
		if _, err = fanout.New(newNetwork(), with(field, 1)); field.Name == "Queue" {
			require.EqualError(t, err, "fanout: Options.Queue is 1, must be at least 2")
		}
		for set, want := range map[int]int{0: byDefault, 20: 20} {
			t.Run(fmt.Sprint(field.Name, set), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					measure := options(t, newNetwork(), with(field, set))[field.Name]
					require.NotNil(t, measure, field.Name)
					got := measure()
					require.True(t, got == want || got == want+1 && field.Name != "Queue", "%d, not %d", got, want) // Tries are at random times.
				})
			})
		}
	}
}
