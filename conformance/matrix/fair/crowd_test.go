package fair

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// The waiters of [TestCrowdIsServedInOrder] come from so many clients in turn.
const waiters, clients = 300, 30

// middle is the waiter that holds the lock while two clients are killed.
const middle = waiters / 2

// isCancelled says who gives up: a quarter.
func isCancelled(waiter int) bool { return waiter%4 == 1 }

// isVictim says who waits in a process that is killed: each tenth of 30 clients, but for the first. No
// such waiter is cancelled.
func isVictim(waiter int) bool { return waiter%10 == 0 && waiter%clients != 0 }

// crowded is the configuration of all of them.
var crowded = &primitives.FairLockOptions{WaiterTimeout: 15 * time.Second}

// TestCrowdIsServedInOrder lets 300 waiters of 30 clients come one after the other. A quarter of them is
// cancelled, half of these midway, when two clients, which are processes, are killed by SIGKILL, too. All
// others are served in the order of their arrival, and pass the ten that died together.
func TestCrowdIsServedInOrder(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s, c := start(t), newCrowd(waiters)
	holder := hold(t, s.Clients(t, 1, nil)[0])
	victims := s.gather(t, c)
	first, rest, dead := expected()

	c.cancelAll(0, middle)
	s.awaitQueue(t, len(first)+waiters-middle)
	require.NoError(t, holder.Release(t.Context()))
	require.Equal(t, first, c.serve(t, len(first)))
	inside := c.next(t)
	for _, v := range victims {
		v.Kill(t)
	}
	killed := time.Now()
	c.cancelAll(middle, waiters)
	s.awaitQueue(t, len(rest)-1+dead)
	require.NoError(t, inside.lease.Release(t.Context()))
	require.Equal(t, rest, append([]int{inside.waiter}, c.serve(t, len(rest)-1)...))
	took := time.Since(killed)
	t.Logf("%d served, %d of them after %d processes died with %d waiters, within %v",
		len(first)+len(rest), len(rest), len(victims), dead, took)
	// The deadlines of all the dead have passed a timeout after the kill, and the next poll sees it.
	// That is twenty seconds; a busy machine has as long again for its hand-overs. If each of the dead
	// cost a timeout, it would be 150 s, and by Redisson's scores 50 minutes.
	require.Less(t, took, 3*crowded.WaiterTimeout)
	s.Await(t, "nobody waits", func() bool { return cells.Number(t, s, "EXISTS", key, queue, timeouts, deadlines) == 0 })
}

// gather lets all waiters of the crowd come, and returns the victims among their clients.
func (s server) gather(t *testing.T, c *crowd) (victims []victim) {
	t.Helper()
	adapters := cells.Adapters()
	wait := make([]func(waiter int), clients)
	for i := range wait {
		a := adapters[i%len(adapters)]
		if isVictim(i) {
			v := s.startVictim(t, a, c)
			victims, wait[i] = append(victims, v), func(waiter int) { v.wait(t, waiter) }
		} else {
			lock := a.Primitives(t, cells.At(s.Addr()), nil).NewFairLock(key, crowded)
			wait[i] = func(waiter int) { c.wait(t, waiter, lock) }
		}
	}
	s.comeInTurn(t, waiters, func(waiter int) { wait[waiter%clients](waiter) })
	return victims
}

// expected returns who is served before the middle, and from there on, and how many are dead by then.
func expected() (first, rest []int, dead int) {
	for i := range waiters {
		switch {
		case isCancelled(i):
		case i < middle:
			first = append(first, i)
		case isVictim(i):
			dead++
		default:
			rest = append(rest, i)
		}
	}
	return first, rest, dead
}

// cancelAll cancels those who give up, from a waiter to before another.
func (c *crowd) cancelAll(from, to int) {
	for i := from; i < to; i++ {
		if isCancelled(i) {
			c.cancel[i]()
		}
	}
}

// victim is a process that waits for the lock. It keeps the lock until its parent orders the release.
type victim struct{ *cells.Child }

// startVictim starts a victim, whose grants are among those of the crowd.
func (s server) startVictim(t *testing.T, a cells.Adapter, c *crowd) victim {
	t.Helper()
	v := victim{cells.StartChild(t, os.Args[0], "TestVictim", a.Name, s.Addr())}
	go func() {
		for line := range v.Lines {
			waiter, failure, _ := strings.Cut(line, " ")
			i, err := strconv.Atoi(waiter)
			if failure != "<nil>" {
				err = errors.New(line)
			}
			c.granted <- grant{i, v, err}
		}
	}()
	return v
}

// wait lets the victim begin to wait as waiter i.
func (v victim) wait(t *testing.T, i int) {
	t.Helper()
	require.NoError(t, v.Order(strconv.Itoa(i)))
}

// Release lets the victim release what it holds.
func (v victim) Release(context.Context) error { return v.Order("unlock") }

// TestVictim is the process of a victim.
func TestVictim(t *testing.T) {
	args, orders := cells.AsChild(t)
	lock := cells.Named(args[0]).Primitives(t, cells.At(args[1]), nil).NewFairLock(key, crowded)
	release := make(chan struct{})
	for order := range orders {
		if order == "unlock" {
			release <- struct{}{}
			continue
		}
		go func() {
			lease, err := lock.Lock(context.Background())
			cells.Say(order, err)
			<-release
			if err := lease.Release(context.Background()); err != nil {
				cells.Say(order, err)
			}
		}()
	}
}
