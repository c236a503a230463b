package primitives_test

import (
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

// leaseSpec is a state of docs/spec/Lease.tla. Its methods are the actions of that module, by the same names: each
// reports whether it is enabled, and takes the step if it is. The module says why. Here a client may also renew early,
// before it knows of the grant, and several times before it gets an answer; and there may be any number of clients.
type leaseSpec struct {
	*specRules
	now           int64
	p, r, z       specServer
	cl            []specClient
	res           specResource
	fails, grants int
	top           int64
	rises         bool
}

// specRules are constants of the module.
type specRules struct {
	micros                                func(clock int64) int64 // of the clock of a server
	renewals                              int                     // of a client that may be under way at once: 1 in the module
	early                                 bool
	clockTokens, fencing, wait, waitRenew bool
}

// specServer is a server. Its owner is the number of a grant; 0: nobody.
type specServer struct {
	owner          int
	exp, last, off int64
}

// specClient is a client, with the lease that it asks for, and how much of it it does not trust.
type specClient struct {
	st               specSt
	work             specWork
	sent, until, tok int64
	g                int
	renewals         []specRenewal // it is never changed in place
	lease, drift     int64
}

// specRenewal is a renewal under way; exp is 0 until a server has run it.
type specRenewal struct {
	sent, exp int64
	former    bool
}

// specResource is what holders write.
type specResource struct {
	fence          int64
	g              int
	stale, refused bool
}

type (
	specSt   uint8
	specWork uint8
)

// What a client does, and how far its work on the resource is.
const (
	specIdle specSt = iota
	specAsked
	specGranted
	specHeld
)

const (
	workNone specWork = iota
	workLooked
	workRead
)

func (s *leaseSpec) clock(on *specServer) int64  { return s.now + on.off }
func (s *leaseSpec) expired(on *specServer) bool { return s.clock(on) >= on.exp }
func (s *leaseSpec) free(on *specServer) bool    { return on.owner == 0 || s.expired(on) }
func (s *leaseSpec) believes(c int) bool         { return s.cl[c].st == specHeld && s.now < s.cl[c].until }
func (s *leaseSpec) waits(c int) bool {
	return s.early && (s.cl[c].st == specAsked || s.cl[c].st == specGranted)
}

func (c *specClient) end(sent, lost int64) int64 { return sent + c.lease - c.drift + lost }

func (s *leaseSpec) nextToken(on *specServer) int64 {
	if s.clockTokens {
		return max(s.micros(s.clock(on)), on.last+1)
	}
	return on.last + 1
}

func (s *leaseSpec) ask(c int, lease, drift int64) bool {
	if s.cl[c].st != specIdle {
		return false
	}
	s.cl[c] = specClient{st: specAsked, sent: s.now, lease: lease, drift: drift}
	return true
}

func (s *leaseSpec) grant(c int, token int64) bool {
	if s.cl[c].st != specAsked || !s.free(&s.p) || token != s.nextToken(&s.p) {
		return false
	}
	s.grants++
	s.p.owner, s.p.exp, s.p.last = s.grants, s.clock(&s.p)+s.cl[c].lease, token
	s.cl[c].st, s.cl[c].tok, s.cl[c].g = specGranted, token, s.grants
	s.rises, s.top = s.rises && token > s.top, max(s.top, token)
	return true
}

func (s *leaseSpec) reply(c int, lost int64) bool {
	cl := &s.cl[c]
	if cl.st != specGranted || s.wait && s.r.owner != cl.g {
		return false
	}
	cl.st, cl.until = specHeld, max(cl.until, cl.end(cl.sent, lost))
	return true
}

func (s *leaseSpec) renew(c int) bool {
	cl := &s.cl[c]
	if !s.believes(c) && !s.waits(c) || len(cl.renewals) >= s.renewals {
		return false
	}
	cl.renewals = append(slices.Clip(cl.renewals), specRenewal{sent: s.now})
	return true
}

// renewed runs the client's i-th renewal on the primary, or on the former one.
func (s *leaseSpec) renewed(c, i int, former bool) bool {
	on, cl := &s.p, &s.cl[c]
	if former {
		on = &s.z
	}
	if i >= len(cl.renewals) || cl.renewals[i].exp > 0 || on.owner != cl.g || s.expired(on) {
		return false
	}
	on.exp = s.clock(on) + cl.lease
	cl.renewals = slices.Clone(cl.renewals)
	cl.renewals[i].exp, cl.renewals[i].former = on.exp, former
	return true
}

func (s *leaseSpec) confirm(c, i int, lost int64) bool {
	cl := &s.cl[c]
	if i >= len(cl.renewals) || cl.renewals[i].exp == 0 || !s.believes(c) && !s.waits(c) {
		return false
	}
	r := cl.renewals[i]
	if s.waitRenew && (r.former || s.r.owner != cl.g || s.r.exp < r.exp) {
		return false
	}
	cl.until = max(cl.until, cl.end(r.sent, lost))
	cl.renewals = slices.Delete(slices.Clone(cl.renewals), i, i+1)
	return true
}

func (s *leaseSpec) leave(c int) bool {
	if s.cl[c].st < specGranted || s.cl[c].work != workNone {
		return false
	}
	s.cl[c] = specClient{}
	return true
}

func (s *leaseSpec) released() bool {
	trusted := func(c specClient) bool { return c.g == s.p.owner && (c.st != specHeld || s.now < c.until) }
	if s.p.owner == 0 || slices.ContainsFunc(s.cl, trusted) {
		return false
	}
	s.p.owner, s.p.exp = 0, 0
	return true
}

func (s *leaseSpec) look(c int) bool {
	if !s.believes(c) || s.cl[c].work != workNone {
		return false
	}
	s.cl[c].work = workLooked
	return true
}

func (s *leaseSpec) read(c int) bool {
	cl := &s.cl[c]
	switch {
	case cl.work != workLooked:
		return false
	case s.fencing && s.res.fence > cl.tok:
		s.res.refused = s.res.refused || cl.g > s.res.g
		cl.work = workNone
	default:
		s.res.fence, s.res.g = cl.tok, max(s.res.g, cl.g)
		cl.work = workRead
	}
	return true
}

func (s *leaseSpec) write(c int) bool {
	cl := &s.cl[c]
	if cl.work != workRead {
		return false
	}
	if cl.work = workNone; !s.fencing || s.res.fence == cl.tok {
		s.res.stale = s.res.stale || cl.g < s.res.g
	}
	return true
}

func (s *leaseSpec) sync() bool {
	r := s.p
	r.off = s.r.off
	changed := r != s.r
	s.r = r
	return changed
}

func (s *leaseSpec) setClock(off int64) bool {
	changed := off != s.p.off
	s.p.off = off
	return changed
}

// broken names the first of some invariants that s violates; "": it violates none.
func (s *leaseSpec) broken(invariants ...string) string {
	believers := 0
	for c := range s.cl {
		if s.believes(c) {
			believers++
		}
	}
	for _, name := range invariants {
		switch {
		case name == "OneHolder" && believers > 1, name == "TokensRise" && !s.rises,
			name == "NoStaleWrite" && s.res.stale, name == "NoFalseRefusal" && s.res.refused:
			return name
		}
	}
	return ""
}

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

// key is equal for states that are equal, but for the order of the clients. All of its numbers are small.
func (s *leaseSpec) key() string {
	of := func(numbers ...int64) string {
		var key []byte
		for _, n := range numbers {
			key = append(key, byte(n))
		}
		return string(key)
	}
	is, clients := map[bool]int64{true: 1}, []string(nil)
	for _, c := range s.cl {
		r := append(slices.Clip(c.renewals), specRenewal{})[0]
		clients = append(clients, of(int64(c.st), int64(c.work), c.sent, c.until, c.tok, int64(c.g), int64(len(c.renewals)), r.sent, r.exp, is[r.former]))
	}
	slices.Sort(clients)
	rest := of(int64(s.p.owner), s.p.exp, s.p.last, s.p.off, int64(s.r.owner), s.r.exp, s.r.last, s.r.off,
		int64(s.z.owner), s.z.exp, s.z.last, s.z.off, s.now, s.res.fence, int64(s.res.g), int64(s.fails), int64(s.grants), s.top,
		is[s.rises], is[s.res.stale], is[s.res.refused])
	return strings.Join(append(clients, rest), "")
}

// explore goes through all states, and returns what it finds in the form of a configuration's result. The number of
// states before a violation depends on their order: it is left out.
func (c *specConfig) explore() string {
	seen, level := map[string]bool{}, c.initial()
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
