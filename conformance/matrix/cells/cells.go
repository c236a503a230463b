// Package cells has the parts of the matrix: adapters, servers and topologies, and processes that can be killed.
package cells

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// Child is [servers.Child]: tests are compiled in the checkout of the last release, too, with these names.
type Child = servers.Child

// StartChild, AsChild and Say are those of package servers.
var (
	StartChild = servers.StartChild
	AsChild    = servers.AsChild
	Say        = servers.Say
)

// Cell is one place of the matrix.
type Cell struct {
	Adapter  Adapter
	Kind     servers.Kind
	Topology Topology
}

// All are all cells.
func All() (all []Cell) {
	for _, kind := range servers.Kinds() {
		for _, topology := range Topologies() {
			for _, a := range Adapters() {
				all = append(all, Cell{a, kind, topology})
			}
		}
	}
	return all
}

// Name returns the cell's name, such as RueidisOnRedisCluster.
func (c Cell) Name() string { return c.Adapter.Name + "On" + c.Kind.String() + c.Topology.Name }

// Harness starts the cell's servers, for the test alone.
func (c Cell) Harness(tb testing.TB) *conformance.Harness {
	tb.Helper()
	return c.Topology.Start(tb, c.Kind).Harness(c.Adapter, Variant{})
}

// Whole reports whether the whole matrix is asked for, not a part.
func Whole() bool { return os.Getenv("HASP_MATRIX") == "all" }

// Proof leaves a test to "make prove": it takes long, and judges more than this machine and the change at hand.
func Proof(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("make prove runs it: -short leaves it out")
	}
}

// Want returns a function that takes what a call returned, and requires that it is want, and no error.
func Want[T any](tb testing.TB, want T) func(T, error) {
	tb.Helper()
	return func(got T, err error) {
		tb.Helper()
		require.NoError(tb, err)
		require.Equal(tb, want, got)
	}
}

// Got returns a function that returns what a call returned, and requires that it did not fail.
func Got[T any](v T, err error) func(tb testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		require.NoError(tb, err)
		return v
	}
}

// Err returns the error alone that a call returned.
func Err[T any](_ T, err error) error { return err }

// Within returns what comes from got, which must not take longer than bound.
func Within[T any](tb testing.TB, bound time.Duration, what string, got <-chan T) (v T) {
	tb.Helper()
	select {
	case v = <-got:
	case <-time.After(bound):
		require.FailNow(tb, what, "not within %v", bound)
	}
	return v
}

// Bubble runs a parallel test in virtual time.
func Bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// LockUnlock takes a lock and releases it.
func LockUnlock(ctx context.Context, l *primitives.Lock) error {
	lease, err := l.Lock(ctx)
	if err == nil {
		err = lease.Release(ctx)
	}
	return err
}

// Main is conformance.Main without go-redis's lines about dials that fail. LUACOVER is for "make luacover".
func Main(m *testing.M) int {
	redis.SetLogger(silent{})
	run := func() int { return conformance.Main(m) }
	return embedded.CoverLua(run, "../../../primitives/internal/script", os.Getenv("LUACOVER"))
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Server is a server of one test's own, with what tests ask it.
type Server struct{ *servers.Server }

// StartServer starts a Redis server that ends with tb.
func StartServer(tb testing.TB) Server {
	tb.Helper()
	return Server{servers.Start(tb, servers.Redis, nil)}
}

// OnBoth runs a test on a Redis and a Valkey server, side by side.
func OnBoth(t *testing.T, test func(t *testing.T, s *servers.Server)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) { t.Parallel(); test(t, servers.Start(t, kind, nil)) })
	}
}

// Clients makes n clients, of all drivers.
func (s Server) Clients(tb testing.TB, n int, o *primitives.Options) []*primitives.Client {
	tb.Helper()
	all := make([]*primitives.Client, n)
	for i := range all {
		all[i] = Adapters()[i%len(Adapters())].Primitives(tb, At(s.Addr()), o)
	}
	return all
}

// Doer is a server, within the process or not.
type Doer interface {
	Do(words ...string) (backend.Reply, error)
}

// Text sends a command, and returns the text or number that the server replies.
func Text(tb testing.TB, s Doer, words ...string) string {
	tb.Helper()
	reply := Got(s.Do(words...))(tb)
	return Got(reply.Text())(tb)
}

// Number sends a command, and returns the number that the server replies.
func Number(tb testing.TB, s Doer, words ...string) int {
	tb.Helper()
	return Got(strconv.Atoi(Text(tb, s, words...)))(tb)
}

// Texts sends a command, and returns the texts that the server replies.
func Texts(tb testing.TB, s Doer, words ...string) (all []string) {
	tb.Helper()
	reply := Got(s.Do(words...))(tb)
	items := Got(reply.Items())(tb)
	for _, item := range items {
		text := Got(item.Text())(tb)
		all = append(all, text)
	}
	return all
}

// Commands returns how many commands the server has run, those of scripts included.
func (s Server) Commands(tb testing.TB) int {
	tb.Helper()
	info := Got(s.Info("stats"))(tb)
	return Got(strconv.Atoi(info["total_commands_processed"]))(tb)
}

// Calls returns how often the server has run a command, such as evalsha.
func (s Server) Calls(tb testing.TB, command string) (n int) {
	tb.Helper()
	info := Got(s.Info("commandstats"))(tb)
	if said := info["cmdstat_"+command]; said != "" {
		require.NoError(tb, Err(fmt.Sscanf(said, "calls=%d", &n)))
	}
	return n
}

// Await waits until something is so.
func (s Server) Await(tb testing.TB, what string, met func() bool) {
	tb.Helper()
	require.Eventually(tb, met, conformance.Patience, 5*time.Millisecond, what)
}

// aclCommand finds the commands that administrators copy, each on one line.
var aclCommand = regexp.MustCompile(`(?m)^ACL SETUSER app .*$`)

// ACLPage returns the path of the page with these commands.
func ACLPage() string {
	dir := must.Get(os.Getwd())
	for dir != filepath.Dir(dir) && must.Catch(func() { must.Get(os.Stat(filepath.Join(dir, "go.work"))) }) != nil {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "docs", "operate", "acl.md")
}

// ACLCommands returns the commands of the page: for one server, and what a cluster needs besides.
func ACLCommands() (server, cluster string) {
	all := aclCommand.FindAllString(string(must.Get(os.ReadFile(ACLPage()))), -1)
	return all[0], all[1]
}

// user is a server's configuration of the user hasp, whose password is secret, for the names of the suite, whose own
// scripts and subscriptions need more than the page says.
func user(more string) map[string]string {
	server, _ := ACLCommands()
	_, rules, _ := strings.Cut(server, " resetchannels ")
	return map[string]string{"user hasp": "on >secret " + strings.ReplaceAll(rules, "app:", "conf-") +
		" &{conf-* &conf-* +append +incr +hincrby +sadd +smembers +scan +client|setname " + more}
}
