package primitives_test

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// wireNames are what one lock calls its objects on the server.
type wireNames struct{ key, token, channel string }

// namesOf returns what a lock uses: it is taken and released.
func namesOf(t *testing.T, prefix, name string) wireNames {
	t.Helper()
	s := newServer(t)
	var names wireNames
	var released string
	s.seen = func(script string, keys, args []string) {
		switch script {
		case "lock_acquire":
			names.key, names.token = keys[0], keys[1]
		case "lock_release":
			released, names.channel = keys[0], args[2]
		}
	}
	client := must(primitives.New(s, &primitives.Options{KeyPrefix: prefix}))(t)
	lock := client.NewLock(name, nil)
	require.Equal(t, name, lock.Name())
	require.NoError(t, must(lock.TryLock(t.Context()))(t).Release(t.Context()))
	require.NoError(t, client.Close(t.Context()))
	require.Equal(t, names.key, released)
	return names
}

// tagged matches a key with a hash tag, and takes the tag.
var tagged = regexp.MustCompile(`(?s)^[^{]*\{([^}]+)\}`)

// hashed returns the part of a key that its slot is made of. Source: the Redis Cluster
// specification, "Hash tags".
func hashed(key string) string {
	if m := tagged.FindStringSubmatch(key); m != nil {
		return m[1]
	}
	return key
}

// FuzzNames: a lock's keys and channel are made of the prefix and the name, lie in one slot exactly
// when the key has no braces or a hash tag in them, and are shared with no other lock, but for the
// names that docs/internals/design.md lists.
func FuzzNames(f *testing.F) {
	for _, name := range []string{
		"a", "{a}", "a{b}c", "a}b", "}", "{}", "{}a{b}", "{a", "a}b{c}", "redisson_lock_token:{a}",
	} {
		f.Add("", name, "a")
		f.Add("p{q}:", name, "b")
		f.Add("p}", name, "{a}")
	}
	f.Fuzz(func(t *testing.T, prefix, name, other string) {
		if name == "" || other == "" {
			t.Skip("refused: FuzzOptions")
		}
		names := namesOf(t, prefix, name)
		key := prefix + name
		require.Equal(t, key, names.key)
		requireOneSlot(t, names, !strings.ContainsAny(key, "{}") || tagged.MatchString(key))
		if name != other {
			requireApart(t, names, namesOf(t, prefix, other))
		}
	})
}

// requireOneSlot requires that all names have the key's slot by what they are made of, or that
// none of the others has.
func requireOneSlot(t *testing.T, names wireNames, one bool) {
	t.Helper()
	for _, side := range []string{names.token, names.channel} {
		require.Equal(t, one, hashed(side) == hashed(names.key), "%+v", names)
		if one {
			require.NoError(t, backend.SameSlot([]string{names.key, side}))
		}
	}
}

// requireApart requires that two locks share nothing, but for the token key and the channel of a
// name and of the same name in braces.
func requireApart(t *testing.T, a, b wireNames) {
	t.Helper()
	require.NotEqual(t, a.key, b.key)
	inBraces := !strings.Contains(a.key, "{") && b.key == "{"+a.key+"}" ||
		!strings.Contains(b.key, "{") && a.key == "{"+b.key+"}"
	require.Equal(t, inBraces, a.token == b.token, "%+v %+v", a, b)
	require.Equal(t, inBraces, a.channel == b.channel, "%+v %+v", a, b)
}

// FuzzOptions: any durations are either refused, by an error that names a field that is out of its
// documented bounds and with nothing sent, or the lock is held for just what they say.
func FuzzOptions(f *testing.F) {
	const ms = int64(time.Millisecond)
	for _, lease := range []int64{
		0, -1, 1, 99 * ms, 100*ms - 1, 100 * ms, 101*ms + ms*9/10, 30000 * ms, math.MaxInt64, math.MinInt64,
	} {
		f.Add(lease, int64(0), int64(0), int64(0), "x")
		f.Add(int64(0), lease, 5*ms, 10*ms, "x")
		f.Add(lease, lease, lease/2-1, lease, "")
		f.Add(lease, int64(0), lease/2-ms/2, lease, "x")
	}
	f.Fuzz(func(t *testing.T, watchdog, lease, drift, poll int64, name string) {
		o := drawn{
			name: name, watchdog: time.Duration(watchdog), lease: time.Duration(lease),
			drift: time.Duration(drift), poll: time.Duration(poll),
		}
		synctest.Test(t, func(t *testing.T) { o.check(t) })
	})
}

// drawn are options that may be out of bounds.
type drawn struct {
	name                         string
	watchdog, lease, drift, poll time.Duration
}

// badOfClient lists the client's fields that are out of bounds, by their documentation.
func (o drawn) badOfClient() (fields []string) {
	if o.watchdog != 0 && o.watchdog < 100*time.Millisecond {
		fields = append(fields, "WatchdogLease")
	}
	if o.poll != 0 && o.poll < 10*time.Millisecond {
		fields = append(fields, "PollInterval")
	}
	if o.drift < 0 || o.drift >= o.watchdogLease()-o.drift {
		fields = append(fields, "ClockDrift")
	}
	return fields
}

// badOfLock lists the lock's.
func (o drawn) badOfLock() (fields []string) {
	if o.name == "" {
		fields = append(fields, "name")
	}
	if o.lease != 0 && o.lease < 100*time.Millisecond {
		fields = append(fields, "Lease")
	}
	if o.drift >= o.held()-o.drift {
		fields = append(fields, "ClockDrift")
	}
	return fields
}

// watchdogLease is what the client's option means.
func (o drawn) watchdogLease() time.Duration {
	if o.watchdog == 0 {
		return 30 * time.Second
	}
	return o.watchdog - o.watchdog%time.Millisecond
}

// held is the lease that the server is expected to get.
func (o drawn) held() time.Duration {
	if o.lease == 0 {
		return o.watchdogLease()
	}
	return o.lease - o.lease%time.Millisecond
}

// believed is for how long the holder is to believe it.
func (o drawn) believed() time.Duration {
	if o.drift > 0 {
		return o.held() - o.drift
	}
	return o.held() - max(o.held()/10, 2*time.Millisecond)
}

// check takes a lock with the options, and looks at what is sent.
func (o drawn) check(t *testing.T) {
	t.Helper()
	s := newServer(t)
	var sent []string
	s.seen = func(script string, _, args []string) {
		if script == "lock_acquire" {
			sent = append(sent, args[1])
		}
	}
	client, err := primitives.New(s, &primitives.Options{
		WatchdogLease: o.watchdog, ClockDrift: o.drift, PollInterval: o.poll,
	})
	if bad := o.badOfClient(); len(bad) > 0 {
		requireRefused(t, err, bad)
		require.Nil(t, client)
		return
	}
	require.NoError(t, err)
	defer func() {
		require.NoError(t, client.Close(t.Context()))
		time.Sleep(time.Hour) // What is under way arrives.
	}()
	lock := client.NewLock(o.name, &primitives.LockOptions{Lease: o.lease})
	lease, err := lock.TryLock(t.Context())
	if bad := o.badOfLock(); len(bad) > 0 {
		requireRefused(t, err, bad)
		require.Nil(t, lease)
		_, err = lock.ForceUnlock(t.Context())
		requireRefused(t, err, bad)
		_, err = lock.Remaining(t.Context())
		requireRefused(t, err, bad)
		require.Empty(t, s.calls)
		return
	}
	require.NoError(t, err)
	require.Equal(t, []string{strconv.FormatInt(int64(o.held()/time.Millisecond), 10)}, sent)
	require.Equal(t, o.believed(), lease.Remaining())
	o.checkRenewal(t, s, lease)
	require.NoError(t, lease.Release(t.Context()))
}

// checkRenewal lets a third of the lease pass, and requires that it was renewed if that was asked
// for.
func (o drawn) checkRenewal(t *testing.T, s *server, lease *primitives.Lease) {
	t.Helper()
	const most = 24 * time.Hour // The watchdog looks at the clock each second.
	third := o.held()/3 + 1
	if third > most {
		return
	}
	time.Sleep(third)
	synctest.Wait()
	renewals, rest := 0, o.believed()-third
	if o.lease == 0 {
		renewals, rest = 1, o.believed()
	}
	require.Equal(t, renewals, s.called("lock_renew"))
	require.InDelta(t, rest, lease.Remaining(), float64(o.held()/20))
}

// requireRefused requires an error that names one of the fields.
func requireRefused(t *testing.T, err error, fields []string) {
	t.Helper()
	var field *primitives.FieldError
	require.True(t, errors.As(err, &field), "%v, want an error of %q", err, fields)
	require.True(t, slices.Contains(fields, field.Field), "%v, want an error of %q", err, fields)
	require.ErrorContains(t, err, field.Field+": "+field.Problem)
}
