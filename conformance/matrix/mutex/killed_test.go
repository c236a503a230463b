package mutex

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

const (
	killedLease = 3 * time.Second // of the processes that are killed
	waiters     = 200             // clients that wait behind them
)

// TestKilledHolderIsFollowed kills a process that holds the mutex while 200 clients wait, and one that has 50
// waiters of its own before them: the next client is in after the end of the holder's lease, and the others
// follow. How soon, [TestDeadHolderIsFollowed] says.
func TestKilledHolderIsFollowed(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, waiters, &primitives.Options{WatchdogLease: killedLease})
	for title, dead := range map[string]int{"Alone": 0, "WithWaitersBefore": 50} {
		t.Run(title, func(t *testing.T) {
			var late []time.Duration
			kills := cells.Killing(t, func() {
				late = append(late, s.killHolder(t, clients, title+strconv.Itoa(len(late)), dead))
			})
			slices.Sort(late)
			t.Logf("after the end of the lease the next was in within %v, the median of %d; %v to %v",
				late[kills/2], kills, late[0], late[kills-1])
		})
	}
}

// killHolder kills a holder, with so many waiters of its own, and returns how long after the end of its lease
// the next was in, less what an idle timer was late.
func (s server) killHolder(t *testing.T, clients []*primitives.Client, name string, dead int) time.Duration {
	t.Helper()
	key := "hasp_mutex:{" + name + "}"
	child := cells.StartChild(t, os.Args[0], "TestHolder", cells.Adapters()[0].Name, s.Addr(), name, strconv.Itoa(dead))
	require.Equal(t, "in", child.Next(t))
	s.Await(t, "its own wait", func() bool { return cells.Number(t, s, "ZCARD", key+":queue") == dead })
	in := make(chan time.Time, len(clients))
	var all sync.WaitGroup
	t.Cleanup(all.Wait) // Also if the test fails: its context has ended then.
	for i, client := range clients {
		all.Go(func() {
			lease, err := client.NewMutex(name, nil).Lock(t.Context())
			in <- time.Now()
			if noError(t, err) {
				noError(t, lease.Release(t.Context()))
			}
		})
		if (i+1)%10 == 0 { // No more dial at once: a driver gives each a few seconds.
			s.Await(t, "they wait", func() bool { return cells.Number(t, s, "ZCARD", key+":queue") == dead+i+1 })
		}
	}
	child.Kill(t)
	end := time.UnixMilli(int64(cells.Number(t, s, "PEXPIRETIME", key)))
	time.Sleep(time.Until(end))
	timer := time.Since(end)
	first := <-in
	for range len(clients) - 1 {
		first = earlier(first, cells.Within(t, time.Minute, "the next one", in))
	}
	s.Await(t, "nothing is left", func() bool { return cells.Number(t, s, "EXISTS", key, key+":queue", key+":signs") == 0 })
	require.False(t, first.Before(end), "the next is in %v before the end of the lease", end.Sub(first))
	return first.Sub(end) - timer
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// TestHolder is the process of a holder, with waiters of its own.
func TestHolder(t *testing.T) {
	args, _ := cells.AsChild(t)
	dead, err := strconv.Atoi(args[3])
	require.NoError(t, err)
	client := cells.Named(args[0]).Primitives(t, cells.At(args[1]), &primitives.Options{WatchdogLease: killedLease})
	m := client.NewMutex(args[2], nil)
	lease, err := m.Lock(context.Background())
	require.NoError(t, err)
	for range dead {
		go func() { _, _ = m.Lock(context.Background()) }()
	}
	cells.Say("in")
	<-lease.Done()
}

// TestKilledProcesses has eight processes that use one mutex by turns, and kills one of them again and again,
// whatever it does. Nobody gets a token twice, and somebody is in again within a lease and a beat.
func TestKilledProcesses(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	f := fleet{server: start(t), tokens: make(chan string, 1000), had: map[string]bool{}}
	for i := range 8 {
		f.workers = append(f.workers, f.begin(t, i))
	}
	rounds := cells.Killing(t, func() {
		for range 50 {
			f.turn(t)
		}
		victim := len(f.had) % len(f.workers)
		f.workers[victim].Kill(t)
		f.workers[victim] = f.begin(t, victim)
	})
	t.Logf("%d kills, %d turns; the longest time without one was %v", rounds, len(f.had), f.longest)
}

// fleet are processes that use one mutex by turns.
type fleet struct {
	server
	workers []*cells.Child
	tokens  chan string // which the workers have got
	had     map[string]bool
	longest time.Duration // without a token
}

// begin starts a worker over one of the drivers.
func (f *fleet) begin(t *testing.T, i int) *cells.Child {
	t.Helper()
	all := cells.Adapters()
	child := cells.StartChild(t, os.Args[0], "TestWorker", all[i%len(all)].Name, f.Addr())
	go func() {
		for token := range child.Lines {
			select {
			case f.tokens <- token:
			case <-t.Context().Done():
			}
		}
	}()
	return child
}

// turn waits for the next turn of any worker.
func (f *fleet) turn(t *testing.T) {
	t.Helper()
	since := time.Now()
	token := cells.Within(t, conformance.Patience, "the next turn", f.tokens)
	f.longest = max(f.longest, time.Since(since))
	require.False(t, f.had[token], "two had token %s", token)
	f.had[token] = true
}

// TestWorker is a process that uses the mutex by turns, until it is killed.
func TestWorker(t *testing.T) {
	args, _ := cells.AsChild(t)
	client := cells.Named(args[0]).Primitives(t, cells.At(args[1]), &primitives.Options{WatchdogLease: killedLease})
	for m := client.NewMutex(name, nil); ; {
		lease, err := m.Lock(context.Background())
		require.NoError(t, err)
		cells.Say(strconv.FormatInt(lease.Token(), 10))
		time.Sleep(time.Millisecond)
		if err := lease.Release(context.Background()); !errors.Is(err, primitives.ErrLost) {
			require.NoError(t, err)
		}
	}
}
