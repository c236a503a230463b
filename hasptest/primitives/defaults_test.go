package primitives_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// dependent is a default that depends on another option: what of returns for each value of that option.
type dependent struct {
	of   func(t *testing.T, s *server, kind string, other time.Duration) time.Duration
	want pairs
}

type pairs = map[time.Duration]time.Duration

// dependents are all in package primitives. Those of "*" hold for each field of that name.
var dependents = map[string]dependent{
	"*.Lease": {func(t *testing.T, s *server, kind string, other time.Duration) (left time.Duration) {
		hold(t, construct(t, s.client(t, &primitives.Options{WatchdogLease: other}), kind, "x", nil), func(l *primitives.Lease) { left = l.Remaining() })
		return left
	}, pairs{time.Second: 900 * time.Millisecond, time.Minute: 54 * time.Second}},
	"*.MaxHold": {func(t *testing.T, s *server, kind string, other time.Duration) time.Duration {
		begin := time.Now()
		<-must(tries(construct(t, s.client(t, &primitives.Options{MaxHold: other}), kind, "x", nil), 1)(t.Context()))(t).Done()
		return time.Since(begin)
	}, pairs{30 * time.Second: 30 * time.Second, time.Minute: time.Minute}},
	"*.Replicas": {func(t *testing.T, s *server, kind string, other time.Duration) time.Duration {
		n, _ := awaited(t, s, kind, primitives.Options{Replicas: int(other)})
		return time.Duration(n)
	}, pairs{0: 0, 2: 2}},
	"*.ReplicaTimeout": {func(t *testing.T, s *server, kind string, other time.Duration) time.Duration {
		_, timeout := awaited(t, s, kind, primitives.Options{Replicas: 1, WatchdogLease: other})
		return timeout
	}, pairs{time.Second: 333 * time.Millisecond, 3 * time.Second: time.Second, time.Minute: time.Second}},
	"*.WaiterTimeout": {func(t *testing.T, s *server, kind string, other time.Duration) (timeout time.Duration) {
		s.seen = func(script string, _, args []string) {
			if script == "fair_acquire" || script == "arrival_acquire" {
				timeout = time.Duration(must(strconv.Atoi(args[3]))(t)) * time.Millisecond
			}
		}
		kind = strings.ReplaceAll(kind, "Semaphore", "SemaphoreByArrival")
		must(acquirer(t, s.client(t, &primitives.Options{WatchdogLease: other}), kind, "x")(t.Context()))(t)
		return timeout
	}, pairs{time.Second: time.Second, time.Minute: time.Minute}},

	"Options.ClockDrift": {func(t *testing.T, s *server, _ string, other time.Duration) time.Duration {
		lock := s.client(t, nil).NewLock("x", &primitives.LockOptions{Lease: other})
		return other - must(lock.TryLock(t.Context()))(t).Remaining()
	}, pairs{100 * time.Millisecond: 10 * time.Millisecond, time.Minute: 6 * time.Second}},
	"Limit.Burst": {func(t *testing.T, s *server, _ string, other time.Duration) time.Duration {
		x := s.client(t, nil).NewThrottle("x", primitives.Limit{Permits: int(other), Interval: time.Hour}, refuse)
		return time.Duration(must(x.State(t.Context()))(t).Remaining)
	}, pairs{1: 1, 7: 7}},
	"Rate.KeepAlive": {func(t *testing.T, s *server, _ string, other time.Duration) time.Duration {
		x := s.client(t, nil).NewRateLimiter("x", primitives.Rate{Permits: 1, Interval: other}, rateRefuse)
		must(x.Allow(t.Context(), 1))(t)
		return must(x.Rate(t.Context()))(t).KeepAlive
	}, pairs{time.Second: time.Hour, 24 * time.Hour: 24 * time.Hour}},
	"PeriodicJobOptions.TTL": {func(t *testing.T, s *server, _ string, other time.Duration) (ttl time.Duration) {
		s.seen = func(script string, _, args []string) {
			if script == "periodic_complete" {
				ttl = time.Duration(must(strconv.Atoi(args[2]))(t)) * time.Millisecond
			}
		}
		require.Equal(t, jobDone, runJob(t.Context(), time.Now(), noWork, s.client(t, nil).NewPeriodicJob("x", other, nil).Do))
		return ttl
	}, pairs{
		time.Minute: 24 * time.Hour, 7 * 24 * time.Hour: 14 * 24 * time.Hour, 200 * 365 * 24 * time.Hour: 9223372036854 * time.Millisecond,
	}},
	"RedLockOptions.Lease": {func(t *testing.T, s *server, _ string, other time.Duration) time.Duration {
		clients := []*primitives.Client{s.client(t, &primitives.Options{WatchdogLease: other})}
		return must(primitives.NewRedLock(clients, "x", nil).TryLock(t.Context()))(t).Remaining()
	}, pairs{time.Second: 900 * time.Millisecond, time.Minute: 54 * time.Second}},
	"RedLockOptions.NodeTimeout": {func(t *testing.T, s *server, _ string, other time.Duration) time.Duration {
		lock := primitives.NewRedLock([]*primitives.Client{s.client(t, nil)}, "x", &primitives.RedLockOptions{Lease: other})
		s.faults(fault{lost: true})
		defer s.faults(fault{})
		begin := time.Now()
		require.Error(t, errOf(lock.TryLock(t.Context())))
		return time.Since(begin)
	}, pairs{2 * time.Second: 100 * time.Millisecond, time.Minute: time.Second}},
	"SpinLockOptions.MaxDelay": {func(t *testing.T, s *server, _ string, other time.Duration) (longest time.Duration) {
		s.hold("x", another, time.Hour)
		last := time.Now()
		s.seen = func(string, []string, []string) { longest, last = max(longest, time.Since(last)), time.Now() }
		lock := s.client(t, nil).NewSpinLock("x", &primitives.SpinLockOptions{FirstDelay: other})
		require.Error(t, errOf(lock.Lock(within(t, 5*time.Minute))))
		return longest.Round(64 * time.Millisecond) // Each is shorter at random, by up to a half.
	}, pairs{0: 128 * time.Millisecond, 640 * time.Millisecond: 640 * time.Millisecond}},
}

// awaited returns how many replicas one who acquires an object of the kind waits for, and how long.
func awaited(t *testing.T, s *server, kind string, o primitives.Options) (replicas int, timeout time.Duration) {
	t.Helper()
	s.acks = func(n int, within time.Duration) acks {
		replicas, timeout = n, within
		return acks{n: n}
	}
	hold(t, construct(t, s.client(t, &o), kind, "x", nil), func(*primitives.Lease) {})
	return replicas, timeout
}

// depends matches what the comment of an option says of such a default.
var depends = regexp.MustCompile(`[Zz]ero\smeans[^.]*\s(client's|at\s(least|most)|if\s(that|it)\sis|Permits|period)|it means an hour, or`)

// TestDefaultsThatDependOnAnotherOption: each option of package primitives whose comment says so has a row.
func TestDefaultsThatDependOnAnotherOption(t *testing.T) {
	t.Parallel()
	used, structs := map[string]bool{}, regexp.MustCompile(`Options$|^Limit$|^Rate$`)
	for _, file := range must(filepath.Glob("../../primitives/*.go"))(t) {
		ast.Inspect(must(parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments))(t), func(node ast.Node) bool {
			spec, _ := node.(*ast.TypeSpec)
			if spec == nil || !structs.MatchString(spec.Name.Name) {
				return true
			}
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				for _, name := range f.Names {
					row := spec.Name.Name + "." + name.Name
					if _, own := dependents[row]; !own && spec.Name.Name != "Options" {
						row = "*." + name.Name
					}
					if used[row] = dependents[row].of != nil; used[row] {
						requireDependent(t, row, strings.TrimSuffix(spec.Name.Name, "Options"))
					}
				}
				last := "*." + f.Names[len(f.Names)-1].Name
				require.True(t, !depends.MatchString(f.Doc.Text()) || used[last] || used[spec.Name.Name+last[1:]], "%s has no row", last)
			}
			return true
		})
	}
	maps.DeleteFunc(used, func(_ string, has bool) bool { return !has })
	require.Len(t, used, len(dependents))
}

func requireDependent(t *testing.T, row, of string) {
	t.Helper()
	kinds := []string{of}
	if of == "ReadWriteLock" {
		kinds = []string{"ReadLock", "WriteLock"}
	}
	for _, kind := range kinds {
		for other, want := range dependents[row].want {
			subtest(t, fmt.Sprint(kind, row, other), func(t *testing.T, s *server) {
				require.Equal(t, want, dependents[row].of(t, s, kind, other))
			})
		}
	}
}
