package rueidisbackend_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/fanout"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/primitives"
)

var write = backend.NewScript("write", "return 1", -1, backend.RetryNever)

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, adaptertest.ErrOf(rueidisbackend.New(nil, nil)), "client is nil")
}

// TestOptions: each option is heeded.
func TestOptions(t *testing.T) {
	t.Parallel()
	require.Len(t, reflect.VisibleFields(reflect.TypeFor[rueidisbackend.Options]()), 4, "here each has its effect")
	f := answering(func(words []string) string {
		if words[0] == "CLUSTER" {
			return runs(words)
		}
		return "-BUSY x\r\n"
	})
	client := newClient(t, f.dial, rueidis.ClientOption{})
	_, err := rueidisbackend.New(client, &rueidisbackend.Options{Sharded: backend.ShardedOff, PubSub: &fanout.Options{Queue: 1}})
	require.ErrorContains(t, err, "Options.PubSub: fanout: Options.Queue is 1")
	b := over(t, client, &rueidisbackend.Options{Sharded: backend.ShardedOn, RefusedFor: -1})
	require.True(t, b.Capabilities().Sharded)
	_, err = b.Run(t.Context(), write, []string{"k"}, nil)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.Equal(t, 1, f.Count("EVALSHA"))
}

// wrapper is an application's client, which counts.
type wrapper struct {
	rueidis.Client
	calls atomic.Int32
}

func (w *wrapper) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	w.calls.Add(1)
	return w.Client.Do(ctx, cmd)
}

func TestWrappedClient(t *testing.T) {
	t.Parallel()
	f := answering(func([]string) string { return ":1\r\n" })
	w := &wrapper{Client: f.client(t)}
	require.NoError(t, adaptertest.ErrOf(over(t, w, nil).Run(t.Context(), write, []string{"k"}, nil)))
	require.Positive(t, w.calls.Load())
}

// TestCallIsWithdrawnWhileTheClientDials has calls withdrawn while a dial takes its time, as to a host
// that is gone.
func TestCallIsWithdrawnWhileTheClientDials(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string]int{"One": 1, "Several": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hold atomic.Bool
			dialing, proceed := make(chan struct{}, 100), make(chan struct{})
			f := answering(func([]string) string { return adaptertest.HangUp })
			f.before = func() {
				if hold.Load() {
					dialing <- struct{}{}
					<-proceed
				}
			}
			b := f.connect(t)
			hold.Store(true)
			for len(dialing) == 0 { // Each call before breaks the connection that it is sent on.
				batch, outcomes := make([]backend.Call, calls), make(chan backend.Outcome, calls)
				for i := range batch {
					batch[i] = backend.Call{Script: write, Keys: []string{"k"}, Claim: new(backend.Claim)}
					batch[i].Claim.Begin()
				}
				go b.RunBatch(t.Context(), batch, func(_ int, o backend.Outcome) { outcomes <- o })
				sent := len(f.Commands())
				select {
				case <-dialing:
					dialing <- struct{}{}
				case <-outcomes:
					continue
				}
				for _, call := range batch {
					require.True(t, call.Claim.Cancel(), "nothing is sent yet")
				}
				close(proceed)
				for range batch {
					require.False(t, backend.MayHaveRun((<-outcomes).Err))
				}
				require.Len(t, f.Commands(), sent, "nothing was sent")
			}
		})
	}
}

// A list of slots that lacks a slot, as in the middle of a move or before a cluster is whole, is not used again.
func TestSlotWithoutAPrimaryIsLookedUpAgain(t *testing.T) {
	t.Parallel()
	var last atomic.Int32
	last.Store(8191) // The slot of "b" is below, that of "a" is above.
	f := answering(func(words []string) string {
		if words[0] == "CLUSTER" {
			return fmt.Sprintf("*1\r\n*3\r\n:0\r\n:%d\r\n*2\r\n%s:1\r\n", last.Load(), adaptertest.Bulk("127.0.0.1"))
		}
		return adaptertest.Ack(words)
	})
	b := f.cluster(t)
	_, err := b.Subscribe(t.Context(), "b", func(backend.Event) {})
	require.NoError(t, err)
	last.Store(16383)
	_, err = b.Subscribe(t.Context(), "a", func(backend.Event) {})
	require.NoError(t, err)
}

// cluster returns a backend on a client of a cluster whose nodes all answer as the server does. New asks it
// nothing.
func (f *fakeServer) cluster(t *testing.T) *rueidisbackend.Backend {
	t.Helper()
	return clusterBy(t, f.dial)
}

func clusterBy(t *testing.T, dial dialer) *rueidisbackend.Backend {
	t.Helper()
	client := newClient(t, dial, rueidis.ClientOption{ConnWriteTimeout: patience})
	b := over(t, client, &rueidisbackend.Options{Sharded: backend.ShardedOff})
	require.True(t, b.Capabilities().Cluster)
	return b
}

// TestNodeThatRedirectsToItself has a cluster all of whose nodes announce one address.
func TestNodeThatRedirectsToItself(t *testing.T) {
	t.Parallel()
	for _, redirect := range []string{"MOVED", "ASK"} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int32
			f := answering(nil)
			f.Answer = func(words []string) string {
				switch {
				case words[0] == "CLUSTER":
					return fmt.Sprintf("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n%s:1\r\n", adaptertest.Bulk("127.0.0.1"))
				case words[0] == "ASKING", asked.Add(1) > 1000: // or the test would never end
					return adaptertest.OK
				}
				return fmt.Sprintf("-%s %d 127.0.0.1:1\r\n", redirect, backend.Slot("k"))
			}
			t.Cleanup(func() { // The driver forgets connections.
				time.Sleep(time.Minute)
				f.HangUp(f.Open()...)
			})
			b := f.cluster(t)
			fast := *write
			fast.FailFast = true
			_, err := b.Run(t.Context(), &fast, []string{"k"}, nil)
			require.ErrorIs(t, err, backend.ErrUnavailable)
			require.NotErrorIs(t, err, backend.ErrIndeterminate)
			call := backend.Call{Script: &fast, Keys: []string{"k"}}
			for _, o := range backend.RunAll(t.Context(), b, []backend.Call{call, call}) {
				require.ErrorIs(t, o.Err, backend.ErrUnavailable)
			}
			require.Less(t, asked.Load(), int32(200))
		})
	}
}

// TestAfterAFailover: each node answers at an address that ends with its number.
func TestAfterAFailover(t *testing.T) {
	t.Parallel()
	adaptertest.Failover(t, func(nodes [2]*adaptertest.Server, primary *atomic.Int32) adaptertest.Adapter {
		for i, n := range nodes {
			answer := n.Answer
			n.Addr = fmt.Sprint("127.0.0.1:", i)
			n.Answer = func(words []string) string {
				if words[0] != "CLUSTER" {
					return answer(words)
				}
				host, now := "*2\r\n"+adaptertest.Bulk("127.0.0.1"), primary.Load()
				return fmt.Sprintf("*1\r\n*4\r\n:0\r\n:16383\r\n%s:%d\r\n%s:%d\r\n", host, now, host, 1-now)
			}
		}
		return clusterBy(t, func(_ context.Context, to string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return dial(nodes[to[len(to)-1]-'0']), nil
		})
	})
}

func TestNewClientClosesItsBackend(t *testing.T) {
	t.Parallel()
	conn := answering(func([]string) string { return adaptertest.OK }).client(t)
	adaptertest.ClientCloses(t, func(o *primitives.Options) (*primitives.Client, error) { return rueidisbackend.NewClient(conn, o) },
		func() error { return conn.Do(t.Context(), conn.B().Ping().Build()).Error() })
}

func TestAnswers(t *testing.T) { adaptertest.Answers(t, connect) }
