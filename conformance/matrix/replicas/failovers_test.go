package replicas

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
	"github.com/hasp-go/hasp/primitives"
)

// failover is a way in which a replica becomes the primary while clients work, with leases of the given length.
type failover struct {
	name    string
	lease   time.Duration
	ends    bool // the former primary does not go on for the clients that are connected to it
	replace func(t *testing.T, primary, replica *servers.Server)
}

var failovers = []failover{
	{"Killed", 2 * time.Second, true, func(t *testing.T, primary, replica *servers.Server) {
		primary.Kill()
		require.NoError(t, run(replica, "REPLICAOF", "NO", "ONE"))
	}},
	{"Stopped", 2 * time.Second, false, func(t *testing.T, primary, replica *servers.Server) {
		require.NoError(t, primary.Pause())
		require.NoError(t, run(replica, "REPLICAOF", "NO", "ONE"))
	}},
	{"CutOff", 2 * time.Second, false, func(t *testing.T, _, replica *servers.Server) {
		require.NoError(t, run(replica, "REPLICAOF", "NO", "ONE"))
	}},
	{"Lagging", 4 * time.Second, false, func(t *testing.T, _, replica *servers.Server) {
		conn := cells.Got(net.Dial("tcp", replica.Addr()))(t)
		// The replica runs these in one go: it reads nothing from the primary in between.
		require.NoError(t, cells.Err(io.WriteString(conn, "DEBUG SLEEP 2\r\nREPLICAOF NO ONE\r\nQUIT\r\n")))
		require.Equal(t, "+OK\r\n+OK\r\n+OK\r\n", string(cells.Got(io.ReadAll(conn))(t)))
	}},
}

// TestFailovers makes a replica the primary while clients lock and unlock, some of them at the former primary for ever.
// There are one or two replicas, in turn. If all must acknowledge, no two holders trust their leases at once. If one
// less must, two do. In any case tokens rise. One driver goes through one failover of each kind; with HASP_FAILOVERS=n,
// as in "make failovers", each through n.
func TestFailovers(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	each := cells.Got(strconv.Atoi(cmp.Or(os.Getenv("HASP_FAILOVERS"), "0")))(t)
	var mu sync.Mutex
	table := map[string][4]int{}
	t.Run("Of", func(t *testing.T) {
		for round := range max(1, each) {
			for i, f := range failovers {
				for j, a := range cells.Adapters() {
					all := 1 + (i+round/2)%2
					for n := all - 1; n <= all; n++ {
						if each == 0 && i%len(cells.Adapters()) != j || n < all && (f.ends || round > 3) {
							continue
						}
						name := fmt.Sprintf("%s%sReplicas%dOf%d", f.name, a.Name, n, all)
						t.Run(fmt.Sprint(name, "Round", round), func(t *testing.T) {
							t.Parallel()
							o := f.happen(t, a, servers.Kinds()[(round+i)%2], n, all, round)
							mu.Lock()
							row := table[name]
							table[name] = [4]int{row[0] + 1, row[1] + o.grants, row[2] + o.followed, row[3] + len(o.doubles)}
							mu.Unlock()
							require.True(t, n < all || len(o.doubles) == 0, "%q", o.doubles)
							require.Empty(t, o.fallen)
						})
					}
				}
			}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(table)) {
		fmt.Printf("%-28s [failovers, grants, grants by the new primary, times two held]: %6d\n", name, table[name])
	}
}

// happen has one failover, with n of all replicas that must acknowledge, and returns what was seen of it. The replica
// that becomes the primary has as many of its own. Another one stays with the former primary.
func (f failover) happen(t *testing.T, a cells.Adapter, kind servers.Kind, n, all, round int) *oracle {
	t.Helper()
	primary := servers.StartReplicated(t, kind, all-1, nil).Primary()
	replica := servers.StartReplicated(t, kind, all, nil).Primary()
	host, port, _ := strings.Cut(primary.Addr(), ":")
	require.NoError(t, run(replica, "REPLICAOF", host, port))
	eventually(t, func() bool {
		info, err := primary.Info("replication")
		return err == nil && strings.Contains(info[fmt.Sprint("slave", all-1)], "state=online")
	})
	entry := proxy.Start(t, primary.Addr(), nil)
	o := &oracle{inside: map[string][]*primitives.Lease{}, last: map[string]int64{}, passed: map[string]int{}}
	soon := func(met func() bool) { require.Eventually(t, o.when(met), 5*patience, 5*time.Millisecond) }
	random := rand.New(rand.NewPCG(uint64(round), 0)) //nolint:gosec // No secret.
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for i, addr := range []string{primary.Addr(), primary.Addr(), entry.Addr(), entry.Addr()} {
		c := a.Primitives(t, cells.At(addr), &primitives.Options{WatchdogLease: f.lease})
		require.NoError(t, c.Healthy(ctx)) // Until go-redis has connected once, two connections of it are a data race.
		locks := lockers(c, n, f.lease/4)
		delete(locks, "read")
		for name, l := range locks {
			w := worker{l, name, i > 1, f.lease, rand.New(rand.NewPCG(random.Uint64(), 0))} //nolint:gosec // No secret.
			work.Go(func() { w.work(ctx, o) })
			soon(func() bool { return o.knows(name) }) // One at the primary is the first.
		}
	}
	time.Sleep(f.lease/2 + within(random, f.lease)) // The last renewal was at another time in each round.
	f.replace(t, primary, replica)
	require.NoError(t, entry.Lead(replica.Addr()))
	entry.Cut()
	o.when(func() bool { o.moved = true; return true })()
	time.Sleep(within(random, f.lease/2))
	if !f.ends {
		require.NoError(t, primary.Resume())
	}
	soon(func() bool {
		return slices.Min(slices.Collect(maps.Values(o.passed))) > 1 && (n == all || len(o.doubles) > 0)
	})
	return o
}

// within draws a time that is less than d.
func within(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d)))
}

// worker locks and unlocks.
type worker struct {
	locker
	name    string
	follows bool // it is connected to whichever server is the primary
	lease   time.Duration
	random  *rand.Rand
}

func (w worker) work(ctx context.Context, o *oracle) {
	for ctx.Err() == nil {
		floor, moved := o.before(w.name)
		lease, err := w.Lock(ctx)
		if err != nil { // Its first try has reached no server.
			time.Sleep(10 * time.Millisecond)
			continue
		}
		o.enter(w.name, lease, floor, moved && w.follows)
		w.hold(ctx, lease)
		o.leave(w.name, lease)
		_ = lease.Release(ctx)
	}
}

// hold keeps the lease for a moment, sometimes for as long as two leases. A worker at the former primary keeps the Lock
// until it is lost.
func (w worker) hold(ctx context.Context, lease *primitives.Lease) {
	d := within(w.random, w.lease/50)
	if w.random.IntN(8) == 0 {
		d = within(w.random, 2*w.lease)
	}
	if w.name == "lock" && !w.follows {
		d = patience
	}
	select {
	case <-time.After(d):
	case <-lease.Done():
	case <-ctx.Done():
	}
}

// oracle knows who holds what without a server: from the return of Lock until Release is called, or Err is not nil.
type oracle struct {
	mu     sync.Mutex
	moved  bool // a replica is the primary
	inside map[string][]*primitives.Lease
	last   map[string]int64 // the highest token of each name
	passed map[string]int   // grants of each name by the new primary

	grants, followed int      // all, and those by the new primary
	doubles, fallen  []string // two holders at once, and tokens that are not above one from before the call
}

// when returns a function that calls met while nobody enters or leaves.
func (o *oracle) when(met func() bool) func() bool {
	return func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return met()
	}
}

// before returns what a caller must know that is about to lock: the highest token, and whether a replica is the primary.
func (o *oracle) before(name string) (token int64, moved bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[name], o.moved
}

// knows reports whether the name has been granted.
func (o *oracle) knows(name string) bool {
	_, granted := o.passed[name]
	return granted
}

// enter has a holder trust its lease from now on.
func (o *oracle) enter(name string, lease *primitives.Lease, floor int64, passed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, other := range o.inside[name] {
		if other.Err() == nil && lease.Err() == nil { // In this order: lease was granted before.
			o.doubles = append(o.doubles, fmt.Sprint(name, ": token ", other.Token(), " is trusted, and ", lease.Token()))
		}
	}
	if lease.Token() <= floor && lease.Token()+floor > 0 { // A plain lock has none.
		o.fallen = append(o.fallen, fmt.Sprint(name, ": token ", lease.Token(), " after ", floor))
	}
	o.inside[name] = append(o.inside[name], lease)
	o.last[name] = max(o.last[name], lease.Token())
	o.grants++
	if o.passed[name] += 0; passed {
		o.passed[name]++
		o.followed++
	}
}

// leave is called before a release.
func (o *oracle) leave(name string, lease *primitives.Lease) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inside[name] = slices.DeleteFunc(o.inside[name], func(l *primitives.Lease) bool { return l == lease })
}
