package check_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/cmd/hasp/internal/check"
	"github.com/hasp-go/hasp/primitives"
)

// TestJudge has the bounds of what a server answers.
func TestJudge(t *testing.T) {
	t.Parallel()
	const second, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		what, values string // separated by spaces
		state        string
		offset, trip time.Duration
	}{
		{what: "version", values: "redis_version=6.2.14", state: check.Fail},
		{what: "version", values: "redis_version=7.0.0", state: check.OK},
		{what: "version", values: "redis_version=10.0.0", state: check.OK},
		{what: "version", values: "redis_version=7.2.4 server_name=valkey valkey_version=8.0.1", state: check.OK},
		{what: "version", values: "redis_version=7.2.4 server_name=valkey valkey_version=7.1.9", state: check.Fail},
		{what: "version", values: "hello.version=6.0.0 hello.server=redis", state: check.Fail},
		{what: "version", values: "hello.version=8.1.0 hello.server=valkey", state: check.OK},
		{what: "version", state: check.Unknown},
		{what: "maxmemory-policy", values: "maxmemory_policy=allkeys-lfu maxmemory=1", state: check.Fail},
		{what: "maxmemory-policy", values: "maxmemory_policy=allkeys-lfu", state: check.Fail},
		{what: "maxmemory-policy", values: "maxmemory-policy=volatile-lru maxmemory=0", state: check.Warn},
		{what: "maxmemory", values: "maxmemory=100 used_memory=100", state: check.Fail},
		{what: "maxmemory", values: "maxmemory=100 used_memory=50", state: check.Warn},
		{what: "maxmemory", values: "maxmemory=100 used_memory=49", state: check.OK},
		{what: "maxmemory", values: "maxmemory=100", state: check.Unknown},
		{what: "persistence", values: "aof_enabled=0", state: check.Warn},
		{what: "persistence", values: "aof_enabled=1", state: check.OK},
		{what: "min-replicas-to-write", values: "min-replicas-to-write=1 connected_slaves=2 min_slaves_good_slaves=0", state: check.Fail},
		{what: "min-replicas-to-write", values: "min-replicas-to-write=1 connected_slaves=1 min_slaves_good_slaves=1", state: check.OK},
		{what: "min-replicas-to-write", values: "min-replicas-to-write=1", state: check.Unknown},
		{what: "timeout", values: "timeout=59", state: check.Warn},
		{what: "timeout", values: "timeout=60", state: check.OK},
		{what: "clock", offset: 15 * second, trip: ms, state: check.Warn},
		{what: "clock", offset: 15*second + ms, trip: ms, state: check.Fail},
		{what: "clock", offset: -30 * second, trip: ms, state: check.Fail},
		{what: "clock", offset: -second, trip: ms, state: check.OK},
		{what: "clock", offset: 30 * second, state: check.Unknown},
		{what: "round trip", trip: 100 * ms, state: check.Warn},
		{what: "round trip", trip: 99 * ms, state: check.OK},
	} {
		n := check.Node{Addr: "a", Role: check.Primary, Values: map[string]string{}, Offset: c.offset, RoundTrip: c.trip}
		for word := range strings.FieldsSeq(c.values) {
			name, value, _ := strings.Cut(word, "=")
			n.Values[name] = value
		}
		require.Equal(t, c.state, stateOf(t, &check.Facts{Nodes: []check.Node{n}}, c.what), "%+v", c)
	}
}

// stateOf returns the state of the finding about something.
func stateOf(t *testing.T, f *check.Facts, what string) string {
	t.Helper()
	for _, one := range check.Judge(f) {
		if one.What == what {
			return one.State
		}
	}
	require.Fail(t, "no finding", what)
	return ""
}

// TestJudgeNodes: without a primary objects are away, without a replica they are not.
func TestJudgeNodes(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for role, state := range map[string]string{check.Primary: check.Fail, check.Replica: check.Warn, check.Sentinel: check.Warn} {
		f := &check.Facts{Nodes: []check.Node{{Role: role, Err: gone}}}
		require.Equal(t, state, stateOf(t, f, "node"), role)
	}
	for slots, state := range map[int]string{-1: check.Unknown, 3: check.Fail, 4: check.OK} {
		require.Equal(t, state, stateOf(t, &check.Facts{Cluster: true, Slots: slots, AllSlots: 4}, "slots"))
	}
	require.Equal(t, check.Fail, stateOf(t, &check.Facts{RightsErr: gone}, "rights"))
	require.Equal(t, check.Unknown, stateOf(t, &check.Facts{RightsErr: fmt.Errorf("%w: x", primitives.ErrNotSupported)}, "rights"))
}

// TestJudgeRights: a user of locks need not be a reader, unless the check is about readers.
func TestJudgeRights(t *testing.T) {
	t.Parallel()
	for kinds, states := range map[string][2]string{"inspect": {check.Fail, check.Fail}, "inspect lock": {check.Warn, check.Fail}} {
		for i, missing := range []string{"inspect", "inspect lock"} {
			f := &check.Facts{Kinds: strings.Fields(kinds), Missing: map[string][]string{"+get": strings.Fields(missing)}}
			require.Equal(t, states[i], stateOf(t, f, "right"), "%s of %s", missing, kinds)
		}
	}
}
