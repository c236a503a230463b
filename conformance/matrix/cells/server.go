package cells

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

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

// ACLCommands returns the commands of the page: for one server, and what a cluster and Sentinel need besides.
func ACLCommands() (server, cluster, sentinel string) {
	all := aclCommand.FindAllString(string(must.Get(os.ReadFile(ACLPage()))), -1)
	return all[0], all[1], all[2]
}

// ACLRules are those of the page, for names that begin with prefix, which may be in braces, or before them.
func ACLRules(prefix string) string {
	server, _, _ := ACLCommands()
	_, rules, _ := strings.Cut(server, " resetchannels ")
	return strings.ReplaceAll(rules, "app:", prefix)
}

// suiteRules are those of a user for the suite, whose own scripts and subscriptions need more.
func suiteRules() string {
	return ACLRules("conf-") + " &{conf-* &conf-* +append +incr +hincrby +sadd +smembers +scan +client|setname"
}

// User is a server's configuration of the user hasp, whose password is secret, with the rules.
func User(rules string) map[string]string {
	return map[string]string{"user hasp": strings.Join([]string{"on", ">secret", rules}, " ")}
}
