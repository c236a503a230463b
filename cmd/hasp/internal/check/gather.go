package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
)

// Roles of nodes.
const (
	Primary  = "primary"
	Replica  = "replica"
	Sentinel = "sentinel"
	member   = "member" // of a cluster that does not say more
)

// Facts are the answers of the servers.
type Facts struct {
	Nodes           []Node
	Cluster         bool
	Slots, AllSlots int // those that a node has, or -1, and all

	Name      string              // of the objects whose rights were asked for
	Kinds     []string            // of objects, that were asked for
	Missing   map[string][]string // by permission, as in ACL SETUSER: the kinds of objects for which the user lacks it
	RightsErr error
}

// Node is a server, and its answers.
type Node struct {
	Addr string
	Role string // that it should have
	Err  error  // of a node that does not answer

	// Values are the fields of INFO, the answers to CONFIG GET, and those to HELLO with the beginning "hello.". What the
	// server refuses is missing.
	Values map[string]string

	RoundTrip time.Duration // the shortest; 0: it does not say the time
	Offset    time.Duration // of its clock, to this host's in the middle of the round trip
}

// first returns the first value that the server has answered, or an empty text.
func (n *Node) first(names ...string) string {
	i := slices.IndexFunc(names, func(name string) bool { return n.Values[name] != "" })
	if i < 0 {
		return ""
	}
	return n.Values[names[i]]
}

func (n *Node) number(name string) int64 {
	value, _ := strconv.ParseInt(n.Values[name], 10, 64)
	return value
}

// timed returns a duration as a value, unless the server does not say the time.
func (n *Node) timed(d time.Duration) string {
	if n.RoundTrip == 0 {
		return ""
	}
	return d.String()
}

// askTimeout bounds the questions to one node, and those about the permissions for one name.
const askTimeout = 5 * time.Second

// Gather asks the servers of a connection, and for the permissions for objects of a name. Without a name it takes one
// in each part of a cluster. It changes nothing.
func Gather(ctx context.Context, conn *connect.Conn, prefix, name string, kinds []string) *Facts {
	cluster := conn.Redis.Mode() == rueidis.ClientModeCluster
	f := &Facts{Cluster: cluster, AllSlots: backend.Slots, Name: name, Missing: map[string][]string{}}
	names := []string{name}
	if name == "" {
		f.Name, names = prefix+probe, []string{probe}
	}
	if f.Cluster {
		parts := f.askCluster(ctx, conn)
		if name == "" {
			names = probes(prefix, parts)
		}
	}
	for addr := range conn.Redis.Nodes() {
		switch {
		case !f.Cluster:
			f.add(addr, Primary)
		case f.Slots < 0:
			f.add(addr, member)
		}
	}
	if conn.Redis.Mode() == rueidis.ClientModeSentinel {
		for _, addr := range conn.Options.InitAddress {
			f.add(addr, Sentinel)
		}
	}
	for i := 0; i < len(f.Nodes); i++ { // A primary adds its replicas.
		f.Nodes[i].ask(ctx, conn)
		for _, addr := range f.Nodes[i].replicas() {
			f.add(addr, Replica)
		}
	}
	f.askRights(ctx, conn.Client, names, kinds)
	return f
}

func (f *Facts) add(addr, role string) {
	if !slices.ContainsFunc(f.Nodes, func(n Node) bool { return n.Addr == addr }) {
		f.Nodes = append(f.Nodes, Node{Addr: addr, Role: role})
	}
}

// part has the slots of one primary, from each first to the last.
type part [][2]int

// askCluster adds the nodes of a cluster, and returns the parts of its primaries. A primary without slots serves nothing,
// as one that has been replaced.
func (f *Facts) askCluster(ctx context.Context, conn *connect.Conn) (parts []part) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	text := ""
	for _, node := range conn.Redis.Nodes() { // The first that answers.
		if text, _ = node.Do(ctx, node.B().ClusterNodes().Build()).ToString(); text != "" {
			break
		}
	}
	if text == "" {
		f.Slots = -1
	}
	for line := range strings.Lines(text) { // id ip:port@busport,hostname flags primary ping pong epoch link slots...
		words := strings.Fields(line)
		if len(words) < 8 {
			continue
		}
		addr, _, _ := strings.Cut(words[1], "@")
		colon := strings.LastIndex(addr, ":")
		host, _, _ := net.SplitHostPort(conn.Options.InitAddress[0]) // A node that is alone does not know its own.
		addr = net.JoinHostPort(cmp.Or(addr[:max(colon, 0)], host), addr[colon+1:])
		slots, role := part{}, Replica
		for _, word := range words[8:] {
			var first, last int
			if n, _ := fmt.Sscanf(word+"-"+word, "%d-%d", &first, &last); n == 2 {
				slots, role = append(slots, [2]int{first, last}), Primary
				f.Slots += last - first + 1
			}
		}
		if role == Primary {
			parts = append(parts, slots)
		}
		f.add(addr, role)
	}
	return parts
}

func (n *Node) ask(ctx context.Context, conn *connect.Conn) {
	node, err := conn.Node(n.Addr, n.Role == Sentinel, askTimeout)
	if err != nil {
		n.Err = err
		return
	}
	defer node.Close()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	do := func(words ...string) rueidis.RedisResult { return node.Do(ctx, node.B().Arbitrary(words...).Build()) }
	n.time(do)
	n.Values, _ = do("CONFIG", "GET", "maxmemory-policy", "maxmemory", "appendonly", "save", "appendfsync",
		"min-replicas-to-write", "timeout", "tcp-keepalive").AsStrMap()
	if n.Values == nil {
		n.Values = map[string]string{}
	}
	answer := do("INFO")
	if n.Err = answer.NonRedisError(); n.Err != nil {
		return
	}
	info, _ := answer.ToString()
	for line := range strings.Lines(info) {
		if field, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			n.Values[field] = value
		}
	}
	hello, _ := do("HELLO").AsMap()
	for field, value := range hello {
		n.Values["hello."+field], _ = value.ToString()
	}
}

// time asks for the time, and keeps the answer with the shortest round trip.
func (n *Node) time(do func(words ...string) rueidis.RedisResult) {
	for range 5 {
		begin := time.Now()
		parts, err := do("TIME").AsIntSlice()
		taken := time.Since(begin)
		if err == nil && len(parts) == 2 && (n.RoundTrip == 0 || taken < n.RoundTrip) {
			server := time.Unix(parts[0], parts[1]*int64(time.Microsecond))
			n.RoundTrip, n.Offset = taken, server.Sub(begin.Add(taken/2))
		}
	}
}

// replicas returns the addresses of a primary's replicas, as the primary sees them.
func (n *Node) replicas() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(n.Values)) {
		var ip, port string
		value := strings.ReplaceAll(n.Values[name], ",", " ")
		if found, _ := fmt.Sscanf(value, "ip=%s port=%s", &ip, &port); found == 2 && strings.HasPrefix(name, "slave") {
			all = append(all, net.JoinHostPort(ip, port))
		}
	}
	return all
}

// probe begins the names of objects that nobody uses.
const probe = "hasp-check"

// probes returns a name in each part of a cluster. A prefix with braces puts all names into one.
func probes(prefix string, parts []part) (names []string) {
	for i := range backend.Slots {
		name := probe + strconv.Itoa(i)
		slot, left := backend.Slot(prefix+name), len(parts)
		parts = slices.DeleteFunc(parts, func(p part) bool {
			return slices.ContainsFunc(p, func(r [2]int) bool { return r[0] <= slot && slot <= r[1] })
		})
		if len(parts) < left {
			names = append(names, name)
		}
	}
	return names
}
