package matrix

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
)

// seeded is a bug in the lock, put in where its scripts and messages pass the backend. Each must
// fail the cases that it is meant for; others may fail with them.
type seeded struct {
	name  string
	base  base
	kills []string

	// script is the name of the script that replace changes.
	script  string
	replace func(source string) string

	// breakIt, if not nil, breaks the backend in another way.
	breakIt func(b *broken)
}

// text replaces a part of a script, which must be there.
func text(old, new string) func(string) string {
	return func(source string) string {
		if !strings.Contains(source, old) {
			panic("the script has no " + old)
		}
		return strings.ReplaceAll(source, old, new)
	}
}

// source replaces a script. The keys and arguments are those of the good one.
func source(lua string) func(string) string { return func(string) string { return lua } }

func seededBugs() []seeded {
	return []seeded{
		{
			name: "grants without looking", script: "lock_acquire",
			kills:   []string{"LockExcludes", "SharedLockValueExcludes", "RedissonKeepsItsHold"},
			replace: text("redis.call('hlen', lock) > 0", "false"),
		},
		{
			name: "renews what exists, not what it holds", script: "lock_renew",
			kills:   []string{"RenewalMindsTheOwner"},
			replace: text("'hexists', lock, owners[i]", "'exists', lock"),
		},
		{
			name: "releases what another holds", script: "lock_release",
			base:    onServer,
			kills:   []string{"RenewalMindsTheOwner", "CancelledLockTouchesNoLaterHold"},
			replace: text("redis.call('hexists', lock, owner) == 0", "false"),
		},
		{
			name: "forgets to publish", script: "lock_release",
			kills:   []string{"ReleaseWakesAWaiter", "ReleaseTellsRedisson"},
			replace: text("redis.call(publish, released, '0')", ""),
		},
		{
			name: "has one status for a whole batch", script: "lock_renew",
			kills: []string{"BadKeyCostsOnlyItself"},
			replace: text("status[i] = -1",
				"for j = 1, #locks do status[j] = 0 end return status"),
		},
		{
			name: "counts tokens by one", script: "lock_acquire",
			kills:   []string{"TokensRise"},
			replace: text("local now = time[1] .. string.format('%06d', time[2])", "local now = '1'"),
		},
		{
			name: "reads tokens as doubles", script: "lock_acquire",
			kills: []string{"TokensRise"},
			replace: text("redis.call('incr', token)",
				"redis.call('set', token, string.format('%.0f', tonumber(last) + 1))"),
		},
		{
			name: "keeps a shorter lease on the server", script: "lock_acquire",
			kills:   []string{"BeliefEndsBeforeTheServers"},
			replace: text("redis.call('pexpire', lock, lease)", "redis.call('pexpire', lock, lease / 2)"),
		},
		{
			name: "frees only the first time", script: "lock_force_release",
			kills:   []string{"LockQueries"},
			replace: source("return 1"),
		},
		{
			name: "overwrites what is no lock", script: "lock_acquire",
			kills:   []string{"LockConflict"},
			replace: func(s string) string { return "redis.call('del', KEYS[1])\n" + s },
		},
		{
			name: "forgets the gap", base: onServer,
			kills:   []string{"BrokenLinkWakesAWaiter"},
			breakIt: func(b *broken) { changeEvents(b, noGaps) },
		},
		{
			name: "never gives back what may be held", base: onServer,
			kills: []string{
				"LostAcquireIsGivenBack", "CancelledLockLeavesNothing",
				"CancelledLockWithoutReplyLeavesNothing",
			},
			breakIt: refuseLaterReleases,
		},
		{
			name: "renews never", base: onEmbedded,
			kills:   []string{"WatchdogRenews"},
			script:  "lock_renew",
			replace: source("local r = {} for i = 1, #KEYS do r[i] = 1 end return r"),
		},
	}
}

// refuseLaterReleases lets a release through only once it is the first script after a grant that
// was confirmed.
func refuseLaterReleases(b *broken) {
	var mu sync.Mutex
	confirmed := map[string]bool{}
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		switch c.Script.Name {
		case "lock_acquire":
			reply, err := b.good(ctx, c)
			if err == nil {
				mu.Lock()
				confirmed[c.Args[0]] = true
				mu.Unlock()
			}
			return reply, err
		case "lock_release":
			mu.Lock()
			known := confirmed[c.Args[0]]
			delete(confirmed, c.Args[0])
			mu.Unlock()
			if !known {
				return backend.IntegerReply(0), nil
			}
		}
		return b.good(ctx, c)
	}
}

// apply returns the harness in which the lock has the bug.
func (s seeded) apply(h *conformance.Harness) *conformance.Harness {
	breakIt := s.breakIt
	if breakIt == nil {
		breakIt = func(b *broken) {
			var one sync.Mutex
			changed := map[*backend.Script]*backend.Script{}
			b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				if c.Script.Name == s.script {
					one.Lock()
					if changed[c.Script] == nil {
						good := c.Script
						changed[good] = backend.NewScript(
							good.Name, s.replace(good.Source), good.Keys, good.Retry)
					}
					c.Script = changed[c.Script]
					one.Unlock()
				}
				return b.good(ctx, c)
			}
		}
	}
	return mutant{breakIt: breakIt}.apply(h)
}

// TestSeededBugs prints how many bugs of the lock were found.
func TestSeededBugs(t *testing.T) {
	t.Parallel()
	all := seededBugs()
	var mu sync.Mutex
	killed := 0
	t.Run("Each", func(t *testing.T) {
		for _, s := range all {
			t.Run(camel(s.name), func(t *testing.T) {
				t.Parallel()
				cases := slices.DeleteFunc(conformance.PrimitiveCases(), func(c conformance.Case) bool {
					return !slices.Contains(s.kills, c.Name)
				})
				require.Len(t, cases, len(s.kills), "names of cases")
				failed := failures(t.Context(), s.apply(baseHarness(t, s.base)), cases)
				for _, name := range s.kills {
					require.Error(t, failed[name], "%s: case %s did not fail", s.name, name)
				}
				mu.Lock()
				defer mu.Unlock()
				killed++
			})
		}
	})
	fmt.Printf("killed %d of %d\n", killed, len(all))
}
