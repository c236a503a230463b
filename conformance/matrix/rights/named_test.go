package rights

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// object is an object of any kind.
type object interface {
	Rights() []string
	MissingRights(ctx context.Context) ([]string, error)
}

// objects returns an object of each kind, and of each option that needs other permissions. Their names begin with name.
func objects(ctx context.Context, c *primitives.Client, name string) map[string]object {
	all := unopened(c, name)
	all["long adder"] = must.Get(c.OpenLongAdder(ctx, name))
	all["double adder"] = must.Get(c.OpenDoubleAdder(ctx, name+" 2"))
	return all
}

// unopened returns all but the adders, which send messages when they are opened.
func unopened(c *primitives.Client, name string) map[string]object {
	all, hourly := lockers(c, name), primitives.Limit{Permits: 1, Interval: time.Hour}
	maps.Copy(all, map[string]object{
		"fenced": c.NewFencedLock(name, nil), "election": c.NewElection(name, nil), "job": c.NewPeriodicJob(name, time.Hour, nil),
		"memo": primitives.NewMemo[int](c, name, nil), "semaphore": c.NewSemaphore(name, nil),
		"permits": c.NewPermitSemaphore(name, nil), "latch": c.NewCountDownLatch(name), "parts": c.NewPartsLatch(name),
		"long": c.NewAtomicLong(name), "double": c.NewAtomicDouble(name), "ids": c.NewIDGenerator(name),
		"rate":     c.NewRateLimiter(name, primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour}),
		"throttle": c.NewThrottle(name, hourly, &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour}),
	})
	return all
}

// lockers returns those of which each has its own scripts for the acquire and for the release: see [lockerOf].
func lockers(c *primitives.Client, name string) map[string]object {
	rw, arrival := c.NewReadWriteLock(name, nil), &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival}
	return map[string]object{
		"lock": c.NewLock(name, nil), "described": c.NewLock(name, &primitives.LockOptions{Metadata: "text"}),
		"spin": c.NewSpinLock(name, nil), "fair": c.NewFairLock(name, nil), "mutex": c.NewMutex(name, nil),
		"plain": c.NewPlainLock(name, nil),
		"read":  rw.ReadLock(), "write": rw.WriteLock(), "time": c.NewCountingSemaphore(name, 1, nil),
		"arrival": c.NewCountingSemaphore(name, 1, arrival),
	}
}

// rightsOf returns the permissions of objects, each once: of all, or of the given kinds.
func rightsOf(all map[string]object, kinds ...string) []string {
	rules := []string{}
	for kind, o := range all {
		if len(kinds) == 0 || slices.Contains(kinds, kind) {
			rules = append(rules, o.Rights()...)
		}
	}
	return uniq(rules)
}

// base are the commands of drivers, of the waiting for replicas, and of the connection of the messages.
var base = []string{"+wait", "+ping", "+hello", "+client|tracking"}

// TestACLIsDocumented compares the commands on the page with the permissions of all kinds, for names with braces, too.
// With HASP_WRITE=1 it writes them.
func TestACLIsDocumented(t *testing.T) {
	t.Parallel()
	c := cells.Over(t, must.Get(embedded.New(embedded.NewServer(), nil)), nil)
	rules := slices.Clone(base)
	for _, name := range []string{"app:x", "app:{x}", "{app:x}"} {
		rules = append(rules, rightsOf(objects(t.Context(), c, name))...)
	}
	server := "ACL SETUSER app on >PASSWORD resetkeys resetchannels -@all " + strings.Join(uniq(rules), " ")
	documented, _ := cells.ACLCommands()
	if os.Getenv("HASP_WRITE") != "" {
		page := string(must.Get(os.ReadFile(cells.ACLPage())))
		must.Do(os.WriteFile(cells.ACLPage(), []byte(strings.Replace(page, documented, server, 1)), 0o644))
		return
	}
	require.Equal(t, server, documented, "HASP_WRITE=1 go test -run TestACLIsDocumented writes the page")
}

// users are the kinds of the objects that users of the primitives' scripts use.
var users = [][]string{
	{"lock", "described", "fenced", "spin", "election"}, {"fair"}, {"mutex"}, {"plain"}, {"read", "write"}, {"semaphore"}, {"permits"},
	{"time", "arrival"}, {"latch"}, {"parts"}, {"long", "double"}, {"ids"}, {"rate"}, {"throttle", "time"}, {"long adder", "double adder"},
	{"job"}, {"memo"},
}

// TestRightsAreThoseOfTheScripts runs the scripts of each kind. The permissions of the kind have each command that they
// call, each key and each channel, and no command that none of them has in its text.
func TestRightsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	c, all := cells.Over(t, must.Get(embedded.New(embedded.NewServer(), nil)), nil), scripts(t)
	for _, kinds := range users {
		t.Run(strings.Join(kinds, ","), func(t *testing.T) {
			t.Parallel()
			runs, names := record(t, func(ctx context.Context, c *primitives.Client) { use(ctx, c, kinds...) })
			rights, texts := []string{}, ""
			for _, name := range []string{"declared", lostReply} {
				rights = append(rights, rightsOf(objects(t.Context(), c, name), kinds...)...)
			}
			for _, what := range runs {
				texts += what.Script.Source
				for _, call := range what.calls {
					require.Contains(t, rights, "+"+call)
				}
			}
			for name, text := range all { // Not each kind of number uses them here.
				if strings.HasPrefix(name, "object_") {
					texts += text
				}
			}
			requireNamed(t, rights, names)
			requireCalled(t, rights, texts)
		})
	}
}

// requireNamed requires that the patterns among rights allow all of these keys and channels.
func requireNamed(t *testing.T, rights []string, names map[string]bool) {
	t.Helper()
	for name := range names {
		allowed := slices.ContainsFunc(rights, func(rule string) bool {
			matches, err := path.Match(rule, name)
			return err == nil && matches
		})
		require.True(t, allowed, "no right to %s", name)
	}
}

// requireCalled requires that each command is in the texts, except for those of all objects.
func requireCalled(t *testing.T, rights []string, texts string) {
	t.Helper()
	for _, rule := range rights {
		command, isCommand := strings.CutPrefix(rule, "+")
		if isCommand && !regexp.MustCompile(`^(evalsha|evalsha_ro|script.load|type|.*publish|.*subscribe)$`).MatchString(command) {
			require.True(t, strings.Contains(texts, "'"+command+"'"), "no script calls %s", command)
		}
	}
}

// user is the user of a client's connections, and what becomes of its calls.
type user struct {
	*servers.Server
	t *testing.T
	b backend.Backend
}

func newUser(t *testing.T, s *servers.Server) *user {
	t.Helper()
	u := &user{Server: s, t: t}
	u.may("+@all", "~*", "&*")
	at := cells.At(s.Addr())
	at.User, at.Password = "app", "secret"
	u.b = cells.Named("GoRedis").Backend(t, at)
	return u
}

// may makes the permissions of the user those, and what drivers need.
func (u *user) may(rules ...string) {
	words := []string{"ACL", "SETUSER", "app", "on", ">secret", "resetkeys", "resetchannels", "-@all"}
	must.Get(u.Do(slices.Concat(words, base, rules)...))
}

// try tells an object's short story, and returns the step that is refused for a lack of the rule; "": none is. It has
// changed nothing, and its error says the rule, unless that took too long to find out. What is held has an end.
func (u *user) try(kind string, o object, rule string) (step string) {
	u.t.Helper()
	_, leased := lockerOf(o)
	what, begin, was := fmt.Sprintf("%s without %s: ", kind, rule), time.Now(), state(nil)
	err := act(u.t.Context(), kind, o, func(next string) {
		step, was = next, stateOf(u)
		stays := map[string]bool{}
		for _, command := range was.commands() {
			key := command[1]
			stays[key] = command[0] != "PEXPIRE" && step == "release" && leased && !(kind == "fenced" && strings.Contains(key, "token"))
		}
		require.NotContains(u.t, slices.Collect(maps.Values(stays)), true, "%shas no expiry: %v", what, stays)
	})
	if err == nil {
		return ""
	}
	require.ErrorIs(u.t, err, primitives.ErrNoPermission, what+step)
	if !slices.Contains([]string{"job", "memo", "election"}, kind) { // They call several scripts.
		require.Equal(u.t, was.comparable(), stateOf(u).comparable(), what+step)
	}
	if time.Since(begin) < time.Second { // For so long a client asks what to name.
		require.ErrorContains(u.t, err, "ACL SETUSER <user> "+rule, what+step)
	}
	return step
}

// TestRights takes each permission of each kind from a user, before a client's first call and after some. The client names
// it as missing, and a call that needs it is refused. What the client acquires at first it may release. Later a
// release may be refused, and then the client asks again before it acquires. With all permissions the calls succeed.
func TestRights(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		u, refused := newUser(t, s), map[string]int{}
		client := func() *primitives.Client { return cells.Over(t, u.b, nil) }
		for kind, o := range objects(t.Context(), client(), "app:x") {
			rights := o.Rights()
			for i, rule := range rights {
				lacking := slices.Delete(slices.Clone(rights), i, i+1)
				u.may(lacking...)
				cells.Want(t, []string{rule})(o.MissingRights(t.Context()))
				for _, when := range []string{"at first", "later"} {
					must.Get(s.Do("FLUSHALL")) // Without the permission to release it, the last one may hold the object.
					if other := unopened(client(), "app:x")[kind]; other != nil {
						o = other
					}
					if when == "later" {
						u.may(rights...)
						require.Empty(t, cells.Got(o.MissingRights(t.Context()))(t))
						require.Empty(t, u.try(kind, o, ""))
						u.may(lacking...)
					}
					step := u.try(kind, o, rule)
					if step != "" {
						refused[when]++
					}
					if step == "release" {
						require.Equal(t, "later", when, "%s without %s", kind, rule)
						must.Get(s.Do("FLUSHALL"))
						require.NotContains(t, []string{"", "release"}, u.try(kind, o, rule), "it is not asked again")
					}
					// Its message may be lost.
					require.False(t, kind == "plain" && when == "later" && rule[0] == '&' && step == "release")
				}
			}
			u.may("+@all", "~*", "&*") // The clients close: they release what they could not.
		}
		t.Log(refused)
		require.Greater(t, refused["at first"], 150)
		require.Greater(t, refused["later"], 100)
	})
}
