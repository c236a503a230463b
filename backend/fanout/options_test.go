package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

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
