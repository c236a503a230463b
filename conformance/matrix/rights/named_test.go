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
	"testing/synctest"
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
	all := lockers(c, name)
	maps.Copy(all, map[string]object{
		"fenced": c.NewFencedLock(name, nil), "election": c.NewElection(name, nil), "job": c.NewPeriodicJob(name, time.Hour, nil), "memo": primitives.NewMemo[int](c, name, nil),
		"semaphore": c.NewSemaphore(name, nil), "permits": c.NewPermitSemaphore(name, nil), "latch": c.NewCountDownLatch(name),
		"parts": c.NewPartsLatch(name), "long": c.NewAtomicLong(name), "double": c.NewAtomicDouble(name), "ids": c.NewIDGenerator(name),
		"rate": c.NewRateLimiter(name, primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse()}), "throttle": c.NewThrottle(name, primitives.Limit{Permits: 1, Interval: time.Hour}, &primitives.ThrottleOptions{Unavailable: primitives.Refuse()}),
		"long adder": must.Get(c.OpenLongAdder(ctx, name)), "double adder": must.Get(c.OpenDoubleAdder(ctx, name+" 2")),
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
	documented, _, _ := cells.ACLCommands()
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
	all := scripts(t)
	for _, kinds := range users {
		t.Run(strings.Join(kinds, ","), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, client := newRecorder(t)
				calls, texts := map[string]bool{}, map[string]string{}
				for name, text := range all { // Not each kind of number uses them here.
					if strings.HasPrefix(name, "object_") {
						texts[name] = text
					}
				}
				r.before = func(c backend.Call) func([]string) {
					texts[c.Script.Name] = c.Script.Source
					return func(called []string) {
						for _, name := range called {
							calls["+"+name] = true
						}
					}
				}
				var rights []string
				require.NoError(t, must.Catch(func() {
					use(t.Context(), client, kinds...)
					for _, name := range []string{"declared", lostReply} {
						rights = append(rights, rightsOf(objects(t.Context(), client, name), kinds...)...)
					}
				}))
				require.NoError(t, client.Close(t.Context()))
				require.Subset(t, rights, slices.Collect(maps.Keys(calls)))
				requireNamed(t, rights, r.names)
				requireCalled(t, rights, strings.Join(slices.Collect(maps.Values(texts)), "\n"))
			})
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

// TestMissingRights takes each permission of each kind from a user: the user's client names it, and the error of a call
// that needs it does. With all of them the calls succeed.
func TestMissingRights(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		allow(t, s, base, "+@all ~* &*")
		at := cells.At(s.Addr())
		at.User, at.Password = "app", "secret"
		c := cells.Named("GoRedis").Primitives(t, at, nil)
		all, refused := objects(t.Context(), c, "app:x"), 0
		for name, o := range all {
			rights := o.Rights()
			for i, rule := range append([]string{""}, rights...) {
				granted := slices.Clone(rights)
				if rule != "" {
					granted = slices.Delete(granted, i-1, i)
				}
				do(t, s, "FLUSHALL") // Without the permission to release it, the last one may hold the object.
				allow(t, s, base, granted...)
				missing, err := o.MissingRights(t.Context())
				require.NoError(t, err, "%s without %s", name, rule)
				if rule == "" {
					require.Empty(t, missing, name)
					require.NoError(t, act(t.Context(), name, o), name)
					continue
				}
				require.Equal(t, []string{rule}, missing, name)
				if begin, err := time.Now(), act(t.Context(), name, o); err != nil {
					refused++
					require.ErrorIs(t, err, primitives.ErrNoPermission, "%s without %s", name, rule)
					if time.Since(begin) < time.Second { // For so long a client asks what to name.
						require.ErrorContains(t, err, "ACL SETUSER <user> "+rule, name)
					}
				}
			}
			allow(t, s, base, "+@all ~* &*")
			do(t, s, "FLUSHALL")
		}
		require.Greater(t, refused, 150)
	})
}

func do(t *testing.T, s *servers.Server, words ...string) {
	t.Helper()
	require.NoError(t, cells.Err(s.Do(words...)))
}

// allow makes the rules those of the user app.
func allow(t *testing.T, s *servers.Server, base []string, rules ...string) {
	t.Helper()
	words := []string{"ACL", "SETUSER", "app", "on", ">secret", "resetkeys", "resetchannels", "-@all"}
	do(t, s, append(words, strings.Fields(strings.Join(slices.Concat(base, rules), " "))...)...)
}

// TestReleaseRightsAreAskedOnce takes each permission of each lock from a user. Before a client's first acquire: it is
// refused, and has changed nothing; or its release needs no such permission. And after that: the next one is refused,
// and has changed nothing, no token either; or each key has an expiry, and after a refused release the client asks again.
func TestReleaseRightsAreAskedOnce(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		allow(t, s, base, "+@all ~* &*")
		at := cells.At(s.Addr())
		at.User, at.Password = "app", "secret"
		b, refused := cells.Named("GoRedis").Backend(t, at), map[bool]int{}
		for name, o := range lockers(cells.Over(t, b, nil), "app:x") {
			rights := o.Rights()
			for i, rule := range rights {
				for _, before := range []bool{true, false} {
					l, _ := lockerOf(lockers(cells.Over(t, b, nil), "app:x")[name])
					do(t, s, "FLUSHALL")
					allow(t, s, base, rights...)
					if !before {
						require.NoError(t, must.Get(l.TryLock(t.Context())).Release(t.Context()))
					}
					allow(t, s, base, slices.Delete(slices.Clone(rights), i, i+1)...)
					if without(t, s, l, before, fmt.Sprintf("%s without %s, before: %t", name, rule, before)) {
						refused[before]++
					}
				}
			}
			allow(t, s, base, "+@all ~* &*") // The clients close: they release what they could not.
		}
		t.Log(refused)
		require.Greater(t, refused[true], 80)
		require.Greater(t, refused[false], 30)
	})
}

// without acquires and releases l without a permission, before or after the client has asked for it, and reports
// whether the acquire was refused.
func without(t *testing.T, s *servers.Server, l locker, before bool, what string) bool {
	t.Helper()
	was := storedIn(t, s)
	lease, err := l.TryLock(t.Context())
	is := storedIn(t, s)
	if err != nil {
		require.ErrorIs(t, err, primitives.ErrNoPermission, what)
		require.Equal(t, was.comparable(), is.comparable(), what)
		return true
	}
	for key, words := range is {
		require.NotEqual(t, "-1", words[1], "%s: %s has no expiry", what, key)
	}
	if err = lease.Release(t.Context()); before {
		require.NoError(t, err, what)
	} else if err != nil {
		require.ErrorIs(t, err, primitives.ErrNoPermission, what)
		do(t, s, "FLUSHALL")
		require.ErrorIs(t, cells.Err(l.TryLock(t.Context())), primitives.ErrNoPermission, what)
	}
	return false
}

// storedIn returns the state of a server.
func storedIn(t *testing.T, s *servers.Server) state {
	t.Helper()
	return parseState(must.Get(must.Get(s.Do("EVAL", readState, "0")).Text()))
}
