// Package check finds what of a server breaks the promises of hasp: [Gather] asks the server, and [Judge] decides by its
// answers alone.
package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// The states of a finding. Only Fail breaks a promise; Unknown means that the server did not answer the question.
const (
	OK      = "ok"
	Warn    = "warn"
	Fail    = "FAIL"
	Unknown = "unknown"
)

// Finding is one line of the result.
type Finding struct {
	State string   `json:"state"`
	What  string   `json:"what"`
	Value string   `json:"value"`
	Why   string   `json:"why,omitempty"`
	Nodes []string `json:"nodes,omitempty"` // addresses; none: all of them together
	Link  string   `json:"link"`
}

// rules judge a node that has answered.
var rules = []struct {
	what, link string
	judge      func(n *Node) Finding
}{
	{"version", "docs/operate/deploy.md#versions", version},
	{"maxmemory-policy", "docs/operate/deploy.md#server-settings", policy},
	{"maxmemory", "docs/operate/deploy.md#server-settings", memory},
	{"persistence", "docs/operate/deploy.md#restarts", persistence},
	{"min-replicas-to-write", "docs/operate/deploy.md#min-replicas-to-write", minReplicas},
	{"timeout", "docs/operate/deploy.md#server-settings", timeout},
	{"tcp-keepalive", "docs/operate/deploy.md#connections", keepAlive},
	{"clock", "docs/operate/deploy.md#clocks", clock},
	{"round trip", "docs/operate/deploy.md#timeouts-of-drivers", roundTrip},
}

// Judge returns the findings. It asks nothing, and reads no clock.
func Judge(f *Facts) (all []Finding) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		all = append(all, reachable(n))
		if n.Err != nil || n.Role == Sentinel {
			continue
		}
		for _, r := range rules {
			one := r.judge(n)
			one.What, one.Link, one.Nodes = r.what, r.link, []string{n.Addr}
			all = append(all, one)
		}
	}
	return together(append(append(all, slots(f)...), rights(f)...))
}

// together makes one finding of findings that differ only in their nodes.
func together(all []Finding) (merged []Finding) {
	for _, one := range all {
		i := slices.IndexFunc(merged, func(f Finding) bool {
			return f.State == one.State && f.What == one.What && f.Value == one.Value && f.Why == one.Why
		})
		if i < 0 {
			merged = append(merged, one)
		} else {
			merged[i].Nodes = append(merged[i].Nodes, one.Nodes...)
		}
	}
	return merged
}

// when is a state with its condition.
type when struct {
	holds      bool
	state, why string
}

// decide returns the finding of the first condition that holds. A value that the server has not answered is unknown.
func decide(value string, cases ...when) Finding {
	if value == "" {
		return Finding{State: Unknown, Why: "the server does not say (+info +config|get +time +cluster|nodes)"}
	}
	i := slices.IndexFunc(cases, func(c when) bool { return c.holds })
	if i < 0 {
		return Finding{State: OK, Value: value}
	}
	return Finding{State: cases[i].state, Value: value, Why: cases[i].why}
}

func reachable(n *Node) Finding {
	role := n.first("role", "hello.role")
	f := decide(n.Role,
		when{n.Err != nil && n.Role == Primary, Fail, fmt.Sprint("no answer: ", n.Err)},
		when{n.Err != nil, Warn, fmt.Sprint("no answer: ", n.Err)},
		when{n.Role == Primary && (role == "slave" || role == Replica), Fail, "a replica refuses writes (READONLY): connect to the primary"})
	f.What, f.Nodes, f.Link = "node", []string{n.Addr}, "docs/operate/deploy.md#managed-services"
	if n.Err == nil && f.State == Fail {
		f.Link = "docs/operate/deploy.md#after-a-failover-each-call-fails-with-readonly"
	}
	return f
}

func version(n *Node) Finding {
	text, least := n.first("redis_version", "hello.version"), "7.0"
	if n.first("server_name", "hello.server") == "valkey" {
		text, least = n.first("valkey_version", "hello.version"), "7.2"
	}
	return decide(text, when{number(text) < number(least), Fail, "too old for locks: at least " + least})
}

// number returns a version as a number that rises with it.
func number(version string) int {
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor)
	return major<<16 + minor
}

func policy(n *Node) Finding {
	text := n.first("maxmemory-policy", "maxmemory_policy")
	evicts := text != "noeviction"
	return decide(text,
		when{evicts && n.first("maxmemory") == "0", Warn, "evicts locks once maxmemory is set: noeviction"},
		when{evicts, Fail, "an evicted key is a lost lock: noeviction"})
}

func memory(n *Node) Finding {
	most, used := n.number("maxmemory"), n.number("used_memory")
	return decide(n.first("maxmemory"),
		when{most == 0, OK, ""},
		when{used == 0, Unknown, "the used memory is unknown (+info)"},
		when{used >= most, Fail, "a full server grants no locks"},
		when{2*used >= most, Warn, "soon full: more than twice the used memory"})
}

func persistence(n *Node) Finding {
	on, fsync := n.first("appendonly", "aof_enabled"), n.first("appendfsync")
	save, known := n.Values["save"]
	off := on == "no" || on == "0"
	value := "appendfsync " + cmp.Or(fsync, "unknown")
	if off {
		value = "save " + cmp.Or(save, map[bool]string{true: "none", false: "unknown"}[known])
	}
	if on == "" {
		value = ""
	}
	return decide(value,
		when{off && known && save == "", Warn, "a restart frees all locks: appendonly yes"},
		when{off, Warn, "a restart loses the latest grants: appendonly yes"},
		when{fsync == "no", Warn, "a crash of the machine loses grants: everysec"})
}

func minReplicas(n *Node) Finding {
	least, have := n.number("min-replicas-to-write"), n.number("connected_slaves")
	follow := have
	if n.first("min_slaves_good_slaves") != "" {
		follow = n.number("min_slaves_good_slaves")
	}
	return decide(n.first("min-replicas-to-write"),
		when{n.Role != Primary, OK, ""},
		when{n.first("connected_slaves") == "", Unknown, "the replicas are unknown (+info)"},
		when{follow < least, Fail, "too few replicas follow: each write is refused"},
		when{least == 0 && have > 0, Warn, "a cut-off primary grants locks that a failover loses: 1"})
}

func timeout(n *Node) Finding {
	seconds := n.number("timeout")
	return decide(n.first("timeout"),
		when{0 < seconds && seconds < 60, Warn, "calls on idle connections may have unknown outcomes: 0, or a minute and more"})
}

func keepAlive(n *Node) Finding {
	return decide(n.first("tcp-keepalive"), when{n.number("tcp-keepalive") == 0, Warn, "connections of crashed hosts stay: 300"})
}

// Bounds. Two hosts that are both maxOffset away, in opposite directions, disagree about the minute of a periodic job.
const (
	warnOffset    = time.Second
	maxOffset     = 15 * time.Second
	warnRoundTrip = 100 * time.Millisecond
)

func clock(n *Node) Finding {
	sure := n.Offset.Abs() - n.RoundTrip/2 // The server read its clock at any time of the round trip.
	return decide(n.timed(n.Offset.Round(time.Millisecond)),
		when{sure >= maxOffset, Fail, "differs from this host's clock, so hosts disagree about periods: NTP"},
		when{sure >= warnOffset, Warn, "differs from this host's clock: NTP"})
}

func roundTrip(n *Node) Finding {
	return decide(n.timed(n.RoundTrip.Round(10*time.Microsecond)),
		when{n.RoundTrip >= warnRoundTrip, Warn, "renewals take long: no short leases"})
}

// slots judges whether each slot of a cluster has a node.
func slots(f *Facts) []Finding {
	if !f.Cluster {
		return nil
	}
	value := strconv.Itoa(f.Slots)
	if f.Slots < 0 {
		value = ""
	}
	one := decide(value, when{f.Slots < f.AllSlots, Fail, "objects in the other slots have no node"})
	one.What, one.Link = "slots", "docs/operate/deploy.md#cluster"
	return []Finding{one}
}
