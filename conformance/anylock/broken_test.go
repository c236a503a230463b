package anylock

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestBrokenLocks: each lock that is broken is found by the property that should find it.
func TestBrokenLocks(t *testing.T) {
	for name, broken := range map[string]struct {
		property string
		kind     kind
	}{
		"CheckThenAct":      {"mutual exclusion", kind{set: getThenSet}},
		"ReentryByName":     {"one process", kind{set: reenter, free: leave}},
		"ReadersByCheck":    {"readers and writers", kind{set: writeIfNoReader, read: readIfNoWriter}},
		"WrongUnit":         {"lease", kind{set: tenthOfLease}},
		"UnlockByName":      {"foreign unlock", kind{free: del, byName: true}},
		"NotCompared":       {"late unlock", kind{free: del}},
		"NoLease":           {"killed holder", kind{set: setNX}},
		"QueueOfTheDead":    {"killed waiter", kind{set: queued}},
		"ScriptLoadedOnce":  {"restarted server", kind{set: loadedOnce}},
		"SwallowsTheEnd":    {"cancelled wait", kind{endless: true}},
		"LeavesAGrant":      {"cancelled wait", kind{leaves: true}},
		"SetThenExpire":     {"lost answer", kind{set: setThenExpire, leaves: true}},
		"LearnsByAnswer":    {"silent link", kind{hold: learnsByAnswer}},
		"LearnsAfterStop":   {"stopped holder", kind{hold: learnsByAnswer}},
		"RenewsWhatWasLost": {"lost lease", kind{hold: renewsByName}},
		"TokenOfTheProcess": {"token", kind{hold: counts}},
	} {
		t.Run(name, func(t *testing.T) {
			mayTake(t)
			t.Parallel()
			some := slices.DeleteFunc(Properties(), func(p Property) bool { return p.Name != broken.property })
			s := broken.kind.subject()
			r := judge(t, &s, some).Of(broken.property)
			require.Equal(t, Broken, r.Outcome, "%v", r)
			require.NotEmpty(t, r.History)
		})
	}
}

// TestSoundLock: the lock that the broken ones are made from keeps what it can.
func TestSoundLock(t *testing.T) {
	mayTake(t)
	Run(t, kind{}.subject())
}

// mayTake leaves tests with many processes to "make prove".
func mayTake(t *testing.T) {
	t.Helper()
	if testing.Short() && !servers.IsChild() {
		t.Skip("make prove runs it: -short leaves it out")
	}
}

// kind is a lock whose key has a value of the holder's own, but for what a broken one does in another way.
type kind struct {
	set, read               func(ctx context.Context, env Env, value string) (got bool, err error)
	free                    func(ctx context.Context, env Env, value string) error
	hold                    func(h *Hold, env Env, value string)
	byName, endless, leaves bool // leaves what it got when the call had ended
}

func (k kind) subject() (s Subject) {
	if k.set == nil {
		k.set = setPX
	}
	if k.free == nil {
		k.free = compareAndDelete
	}
	s.Lock = k.lock
	if k.read != nil {
		s.RLock = kind{set: k.read, free: func(ctx context.Context, env Env, _ string) error { return did(ctx, env, "DECR", env.Name+"-readers") }}.lock
	}
	if k.byName {
		s.UnlockName = func(ctx context.Context, env Env) error { return k.free(ctx, env, "") }
	}
	return s
}

var counter atomic.Int64

func (k kind) lock(ctx context.Context, env Env) (Hold, error) {
	value := fmt.Sprint(env.Index, "-", counter.Add(1))
	if k.endless {
		ctx = context.WithoutCancel(ctx)
	}
	for {
		got, err := k.set(ctx, env, value)
		if err == nil && !got {
			err = ctx.Err()
		}
		if err != nil && !k.leaves {
			time.AfterFunc(time.Second/2, func() { _ = k.free(context.Background(), env, value) }) // A SET may still be on its way.
		}
		if got || err != nil {
			h := Hold{Unlock: func(ctx context.Context) error { return k.free(ctx, env, value) }}
			if k.hold != nil && err == nil {
				k.hold(&h, env, value)
			}
			return h, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// do runs a command on a connection of its own, and waits for the reply until ctx ends. "" is nil.
func do(ctx context.Context, env Env, words ...string) (string, error) {
	_, port, _ := net.SplitHostPort(env.Addr)
	at, _ := strconv.Atoi(port)
	done := make(chan func() (string, error), 1)
	go func() {
		reply, err := servers.At(at).Do(words...)
		text, _ := reply.Text()
		done <- func() (string, error) { return text, err }
	}()
	select {
	case result := <-done:
		return result()
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func did(ctx context.Context, env Env, words ...string) error {
	_, err := do(ctx, env, words...)
	return err
}

func is(want string) func(got string, err error) (bool, error) {
	return func(got string, err error) (bool, error) { return got == want, err }
}

func ms(env Env) string { return strconv.FormatInt(env.Lease.Milliseconds(), 10) }

func setPX(ctx context.Context, env Env, value string) (bool, error) {
	return is("OK")(do(ctx, env, "SET", env.Name, value, "NX", "PX", ms(env)))
}

const ifMine = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call("

func compareAndDelete(ctx context.Context, env Env, value string) error {
	return did(ctx, env, "EVAL", ifMine+"'del', KEYS[1]) end", "1", env.Name, value)
}

// What follows is broken.

func getThenSet(ctx context.Context, env Env, value string) (bool, error) {
	if holder, err := do(ctx, env, "GET", env.Name); holder != "" || err != nil {
		return false, err
	}
	return is("OK")(do(ctx, env, "SET", env.Name, value, "PX", ms(env)))
}

func tenthOfLease(ctx context.Context, env Env, value string) (bool, error) {
	env.Lease /= 10
	return setPX(ctx, env, value)
}

func setNX(ctx context.Context, env Env, value string) (bool, error) {
	return is("1")(do(ctx, env, "SETNX", env.Name, value))
}

func setThenExpire(ctx context.Context, env Env, value string) (bool, error) {
	if got, err := setNX(ctx, env, value); !got || err != nil {
		return got, err
	}
	return true, did(ctx, env, "PEXPIRE", env.Name, ms(env))
}

func loadedOnce(ctx context.Context, env Env, value string) (bool, error) {
	const script = "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])"
	sha := Open(env, func() (string, error) { return do(ctx, env, "SCRIPT", "LOAD", script) })
	return is("OK")(do(ctx, env, "EVALSHA", sha, "1", env.Name, value, ms(env)))
}

// queued has waiters in a list, and the first of them tries.
func queued(ctx context.Context, env Env, value string) (bool, error) {
	const script = "local q = KEYS[1] .. '-queue' if not redis.call('lpos', q, ARGV[1]) then redis.call('rpush', q, ARGV[1]) end " +
		"return redis.call('lindex', q, 0) == ARGV[1] and redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and redis.call('lpop', q)"
	return is(value)(do(ctx, env, "EVAL", script, "1", env.Name, value, ms(env)))
}

var mine sync.Map

func reenter(ctx context.Context, env Env, value string) (got bool, err error) {
	if _, got = mine.Load(env.Name); !got {
		if got, err = setPX(ctx, env, value); got {
			mine.Store(env.Name, value)
		}
	}
	return got, err
}

func leave(ctx context.Context, env Env, value string) error {
	mine.Delete(env.Name)
	return compareAndDelete(ctx, env, value)
}

func readIfNoWriter(ctx context.Context, env Env, _ string) (bool, error) {
	if writer, err := do(ctx, env, "GET", env.Name); writer != "" || err != nil {
		return false, err
	}
	return true, did(ctx, env, "INCR", env.Name+"-readers")
}

func writeIfNoReader(ctx context.Context, env Env, value string) (bool, error) {
	if readers, err := do(ctx, env, "GET", env.Name+"-readers"); readers > "0" || err != nil {
		return false, err
	}
	return setPX(ctx, env, value)
}

func del(ctx context.Context, env Env, _ string) error { return did(ctx, env, "DEL", env.Name) }

func counts(h *Hold, _ Env, _ string) { h.Token = counter.Load() }

// renew prolongs the lease, by a script that returns 1, until stop or the server's word that it has ended.
func renew(env Env, script, value string) (ctx context.Context, stop func()) {
	ctx, stop = context.WithCancel(context.Background())
	go func() {
		defer stop()
		for ctx.Err() == nil {
			if renewed, err := is("1")(do(context.Background(), env, "EVAL", script, "1", env.Name, value, ms(env))); err == nil && !renewed {
				return
			}
			time.Sleep(env.Lease / 5)
		}
	}()
	return ctx, stop
}

func learnsByAnswer(h *Hold, env Env, value string) {
	h.Context, _ = renew(env, ifMine+"'pexpire', KEYS[1], ARGV[2]) end", value)
}

func renewsByName(h *Hold, env Env, value string) {
	_, stop := renew(env, "redis.call('pexpire', KEYS[1], ARGV[2]) return 1", value)
	h.Unlock = func(ctx context.Context) error {
		stop()
		return compareAndDelete(ctx, env, value)
	}
}
