package primitives_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// specConfig is a configuration of docs/spec/Lease.tla: the constants that are numbers, 1 for TRUE, and what must hold.
type specConfig struct {
	constants  map[string]int64
	invariants []string
	result     string // what TLC finds, but for the number of states before a violation
	states     int
	replaces   bool // a definition, by one of module Planted
}

// readConfig reads a configuration's file.
func readConfig(t *testing.T, path string) (c specConfig) {
	t.Helper()
	text := must(os.ReadFile(path))(t)
	c.constants = map[string]int64{}
	for _, constant := range regexp.MustCompile(`(?m)^(?:CONSTANTS)? (\w+) = (\d+|TRUE|FALSE)$`).FindAllStringSubmatch(string(text), -1) {
		n := must(strconv.ParseInt(strings.NewReplacer("TRUE", "1", "FALSE", "0").Replace(constant[2]), 10, 64))(t)
		c.constants[constant[1]] = n
	}
	c.invariants = strings.Fields(regexp.MustCompile(`(?m)^INVARIANTS (.*)$`).FindStringSubmatch(string(text))[1])
	result := regexp.MustCompile(`(?m)^\\\* Result: (.*), (\d+) states(, \d+ steps)?$`).FindStringSubmatch(string(text))
	c.replaces = strings.Contains(string(text), " <- ")
	c.states = must(strconv.Atoi(result[2]))(t)
	if c.result = result[1] + result[3]; result[3] == "" {
		c.result += fmt.Sprintf(", %d states", c.states)
	}
	return c
}

// initial are the states in which the module begins, with two clients.
func (c *specConfig) initial() (all []leaseSpec) {
	is := func(name string) bool { return c.constants[name] == 1 }
	rules := &specRules{
		micros:   func(clock int64) int64 { return clock * (c.constants["MaxGrants"] + 1) },
		renewals: int(c.constants["Renews"]), clockTokens: is("ClockTokens"), fencing: is("Fencing"),
		wait: is("Wait"), waitRenew: is("WaitRenew"),
	}
	for off := range c.constants["SkewS"] + 1 {
		for replicas := range min(c.constants["MaxFail"], 1)*c.constants["SkewS"] + 1 {
			all = append(all, leaseSpec{
				specRules: rules, now: 1, rises: true, cl: make([]specClient, 2),
				p: specServer{off: off}, r: specServer{off: replicas},
			})
		}
	}
	return all
}

// next calls do for each state that may follow s.
func (c *specConfig) next(s *leaseSpec, do func(next leaseSpec)) {
	try := func(step func(next *leaseSpec) bool) {
		next := *s
		next.cl = slices.Clone(s.cl)
		if step(&next) {
			do(next)
		}
	}
	k := c.constants
	runs := k["Pauses"] == 1 || !slices.ContainsFunc(s.cl, func(c specClient) bool { return c.work != workNone })
	pass := func(next *leaseSpec, ticks int64) bool {
		next.now += ticks
		return runs && next.now <= k["MaxTime"]
	}
	try(func(next *leaseSpec) bool { return k["MaxFail"] > 0 && next.sync() })
	try(func(next *leaseSpec) bool { return pass(next, 1) })
	try((*leaseSpec).released)
	try(func(next *leaseSpec) bool {
		if next.p, next.fails = s.r, s.fails+1; k["Zombie"] == 1 {
			next.z = s.p
		}
		return int64(s.fails) < k["MaxFail"] && pass(next, k["FailTime"])
	})
	for off := range k["SkewS"] + 1 {
		try(func(next *leaseSpec) bool { return next.setClock(off) })
	}
	for client := range s.cl {
		c.nextOf(s, client, try)
	}
}

// nextOf tries each step of a client.
func (c *specConfig) nextOf(s *leaseSpec, client int, try func(step func(next *leaseSpec) bool)) {
	k, more := c.constants, int64(s.grants) < c.constants["MaxGrants"]
	try(func(next *leaseSpec) bool { return more && next.ask(client, k["Lease"], k["Drift"]) })
	try(func(next *leaseSpec) bool { return more && next.grant(client, next.nextToken(&next.p)) })
	for lost := range k["MaxSkew"] + 1 {
		try(func(next *leaseSpec) bool { return next.reply(client, lost) })
		try(func(next *leaseSpec) bool { return next.confirm(client, 0, lost) })
	}
	for _, former := range []bool{false, true} {
		try(func(next *leaseSpec) bool { return next.renewed(client, 0, former) })
	}
	try(func(next *leaseSpec) bool { return k["Works"] == 1 && next.look(client) })
	for _, step := range []func(*leaseSpec, int) bool{
		(*leaseSpec).renew, (*leaseSpec).leave, (*leaseSpec).read, (*leaseSpec).write,
	} {
		try(func(next *leaseSpec) bool { return step(next, client) })
	}
}

// specKey is equal for states that are equal, but for the order of the clients.
type specKey [3]clientKey

// clientKey has the numbers of a client, or of the rest of a state, all of which are small.
type clientKey [19]byte

func keyOf(numbers ...int64) (key clientKey) {
	for i, n := range numbers {
		key[i] = byte(n)
	}
	return key
}

func flags(all ...bool) (n int64) {
	for i, flag := range all {
		if flag {
			n |= 1 << i
		}
	}
	return n
}

func (s *leaseSpec) key() (key specKey) {
	for i, c := range s.cl {
		var r specRenewal
		if len(c.renewals) > 0 {
			r = c.renewals[0]
		}
		key[i] = keyOf(int64(c.st), int64(c.work), c.sent, c.until, c.tok, int64(c.g), int64(len(c.renewals)), r.sent, r.exp, flags(r.former))
	}
	if bytes.Compare(key[0][:], key[1][:]) > 0 {
		key[0], key[1] = key[1], key[0]
	}
	key[2] = keyOf(int64(s.p.owner), s.p.exp, s.p.last, s.p.off, int64(s.r.owner), s.r.exp, s.r.last, s.r.off,
		int64(s.z.owner), s.z.exp, s.z.last, s.z.off, s.now, s.res.fence, int64(s.res.g), int64(s.fails), int64(s.grants), s.top,
		flags(s.rises, s.res.stale, s.res.refused))
	return key
}

// explore goes through all states, and returns what it finds in the form of a configuration's result. The number of
// states before a violation depends on their order: it is left out.
func (c *specConfig) explore() string {
	seen, level := map[specKey]bool{}, c.initial()
	for _, s := range level {
		seen[s.key()] = true
	}
	for steps := 0; len(level) > 0; steps++ {
		var later []leaseSpec
		for i := range level {
			if broken := level[i].broken(c.invariants...); broken != "" {
				return fmt.Sprintf("%s is violated, %d steps", broken, steps)
			}
			c.next(&level[i], func(next leaseSpec) {
				if key := next.key(); !seen[key] {
					seen[key] = true
					later = append(later, next)
				}
			})
		}
		level = later
	}
	return fmt.Sprintf("holds, %d states", len(seen))
}

// TestSpecIsTheModule: leaseSpec has as many states as TLC finds in docs/spec/Lease.tla, and violates the same invariant
// after as many steps. Configurations of other modules are left out.
func TestSpecIsTheModule(t *testing.T) {
	t.Parallel()
	paths := must(filepath.Glob("../../docs/spec/*.cfg"))(t)
	checked := 0
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".cfg")
		c := readConfig(t, path)
		if c.constants["MaxGrants"] == 0 || c.replaces || testing.Short() && c.states > 60_000 {
			continue
		}
		require.Equal(t, c.result, c.explore(), name)
		checked++
	}
	require.Greater(t, checked, 8)
}
