package matrix

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
)

// target is a server or a cluster that a client can be made for.
type target struct {
	nodes   []*servers.Server
	cluster *servers.Cluster // nil: one server
}

// standalone starts a server of the test's own.
func standalone(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	return &target{nodes: []*servers.Server{servers.Start(tb, kind, nil)}}
}

// clusterOf3 starts a cluster of the test's own.
func clusterOf3(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	c := servers.StartCluster(tb, kind, 3, nil)
	return &target{nodes: c.Nodes, cluster: c}
}

func (t *target) addrs() []string {
	addrs := make([]string, len(t.nodes))
	for i, node := range t.nodes {
		addrs[i] = node.Addr()
	}
	return addrs
}

// owner returns the node that owns key.
func (t *target) owner(key string) (*servers.Server, error) {
	if t.cluster == nil || key == "" {
		return t.nodes[0], nil
	}
	i, err := t.cluster.Owner(backend.Slot(key))
	return t.nodes[i], err
}

func (t *target) do(_ context.Context, key string, args ...string) (backend.Reply, error) {
	node, err := t.owner(key)
	if err != nil {
		return backend.Reply{}, err
	}
	return node.Do(args...)
}

func (t *target) doAll(_ context.Context, args ...string) ([]backend.Reply, error) {
	replies := make([]backend.Reply, len(t.nodes))
	for i, node := range t.nodes {
		var err error
		if replies[i], err = node.Do(args...); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

func (t *target) restart(_ context.Context, keep bool) error {
	data := servers.DropData
	if keep {
		data = servers.KeepData
	}
	return t.nodes[0].Restart(data)
}

// migrate moves the slot of key to the next node.
func (t *target) migrate(_ context.Context, key string) (func(context.Context) error, error) {
	slot := backend.Slot(key)
	from, err := t.cluster.Owner(slot)
	if err != nil {
		return nil, err
	}
	m, err := t.cluster.BeginMigration(slot, (from+1)%len(t.nodes))
	if err != nil {
		return nil, err
	}
	if err := m.MoveKeys(); err != nil {
		return nil, err
	}
	return func(context.Context) error { return errors.Join(m.MoveKeys(), m.Finish()) }, nil
}

// record collects what MONITOR shows of all nodes.
func (t *target) record(context.Context) (func() ([][]string, error), error) {
	monitors := make([]*monitor, len(t.nodes))
	for i, node := range t.nodes {
		var err error
		if monitors[i], err = startMonitor(node); err != nil {
			return nil, err
		}
	}
	return func() ([][]string, error) {
		var all [][]string
		var failed error
		for _, m := range monitors {
			commands, err := m.stop()
			all, failed = append(all, commands...), errors.Join(failed, err)
		}
		return all, failed
	}, nil
}

// monitor is a connection that the server shows all commands on.
type monitor struct {
	node *servers.Server
	conn *servers.Conn
}

func startMonitor(node *servers.Server) (*monitor, error) {
	conn, err := servers.Dial(node.Addr())
	if err != nil {
		return nil, err
	}
	_, err = conn.Do("MONITOR")
	return &monitor{node: node, conn: conn}, err
}

// stop returns what came since the start.
func (m *monitor) stop() (commands [][]string, err error) {
	defer func() { _ = m.conn.Close() }()
	last := rand.Text() // other tests record on this server, too
	if _, err := m.node.Do("PING", last); err != nil {
		return nil, err
	}
	for {
		reply, err := m.conn.Receive(conformance.Patience)
		if err != nil {
			return nil, err
		}
		line, err := reply.Text()
		if err != nil {
			return nil, err
		}
		words, err := monitorWords(line)
		if err != nil {
			return nil, err
		}
		if len(words) == 2 && words[1] == last {
			return commands, nil
		}
		if len(words) > 0 {
			commands = append(commands, words)
		}
	}
}

// monitorWords reads `1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`. A command that a script
// ran, whose address is "lua", gives none.
func monitorWords(line string) (words []string, err error) {
	_, rest, ok := strings.Cut(line, "] ")
	if !ok {
		return nil, fmt.Errorf("MONITOR sent %q", line)
	}
	if strings.HasSuffix(line[:len(line)-len(rest)-2], " lua") {
		return nil, nil
	}
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, fmt.Errorf("MONITOR sent %q: %w", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("MONITOR sent %q: %w", line, err)
		}
		words = append(words, word)
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	return words, nil
}

func TestMonitorWords(t *testing.T) {
	t.Parallel()
	words, err := monitorWords(`1339518083.107412 [0 127.0.0.1:60866] "SET" "a\x00\r\n\"b" ""`)
	require.NoError(t, err)
	require.Equal(t, []string{"SET", "a\x00\r\n\"b", ""}, words)
	words, err = monitorWords(`1339518083.107412 [0 lua] "SET" "a" "b"`)
	require.NoError(t, err)
	require.Empty(t, words)
	_, err = monitorWords("OK")
	require.Error(t, err)
}
