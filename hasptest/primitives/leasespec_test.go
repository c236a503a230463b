package primitives_test

import "slices"

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
