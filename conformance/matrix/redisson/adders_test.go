package redisson

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// testLongAdder has both count, ask each other, and forget.
func testLongAdder(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	for _, name := range []string{"adder", "an{adder}"} {
		one, other := cells.Got(ours.OpenLongAdder(ctx, name))(t), cells.Got(ours.OpenLongAdder(ctx, name))(t)
		s := java.teller(ctx, "longAdder", name, map[string]any{"one": one, "other": other})
		// Java's other one is in the same client, and has counted nothing.
		s.tell("theirs open = opened; one Add 1; other Add 20; theirs add 300 = added; theirs sum = 321; one Sum = 321; " +
			"theirs open = opened another; other Sum = 321; theirs sum = 321; theirs reset = reset; one Sum = 0; " +
			"one Add -4; theirs add 9 = added; theirs sum = 5; other Reset; theirs sum = 0")
		addBeside(t, java, name, one, other)
		s.tell("theirs destroy = destroyed; other Sum = 4000; one Close; other Close")
		java.does("0", "keys.count", "*adder*") // No key of a request is left.
	}
}

// testLongAdderUnderAPrefix shares an adder under a prefix: with a client that has a NameMapper, and then with a client
// that has the prefix in the name. No request leaves a key without an expiry.
func testLongAdderUnderAPrefix(ctx context.Context, t *testing.T, _ *primitives.Client, java *peer) {
	t.Helper()
	ours := cells.Named("Rueidis").Primitives(t, java.at, &primitives.Options{KeyPrefix: "pre:"})
	for name, open := range map[string][2]string{"mapped": {"openMapped", "pre:"}, "pre:spelled": {"open"}} {
		plain := strings.TrimPrefix(name, "pre:")
		if !java.does("opened", "longAdder."+open[0], name, open[1]) {
			continue // The older ones have NameMapper in another package.
		}
		mine := cells.Got(ours.OpenLongAdder(ctx, plain))(t)
		s := java.teller(ctx, "longAdder", name, map[string]any{"ours": mine})
		s.tell("ours Add 1; theirs add 20 = added; ours Sum = 21; ours Reset; ours Sum = 0; theirs add -5 = added; " +
			"ours Add 3; ours Sum = -2")
		java.does("0", "keys.count", "*pre:"+plain+"*") // Of ours none is left.
		s.tell("theirs sum = -2; theirs reset = reset; theirs sum = 0; ours Sum = 0")
		java.does("0", "keys.countEndless", "*pre:"+plain+"*")
		s.tell("theirs destroy = destroyed; ours Close")
	}
}

// testLongAdderInAnotherDatabase has one of ours in another database, which says so on the channel whenever another asks.
func testLongAdderInAnotherDatabase(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	if java.at.Cluster {
		t.Skip("a cluster has one database")
	}
	c := redis.NewClient(&redis.Options{Addr: java.at.Addrs[0], DB: 1})
	t.Cleanup(func() { _ = c.Close() })
	b := cells.Got(goredisbackend.New(c, nil))(t)
	away := cells.Got(cells.Over(t, b, nil).OpenLongAdder(ctx, "databases"))(t)
	s := java.teller(ctx, "longAdder", "databases", map[string]any{
		"away": away, "ours": cells.Got(ours.OpenLongAdder(ctx, "databases"))(t),
	})
	s.tell("theirs open = opened; away Add 300; ours Add 1; theirs add 20 = added; " + strings.Repeat("ours Sum = 21; ", 10))
	const topic = "{databases}:adder-topic"
	all := c.PubSubNumSub(ctx, topic).Val()[topic]
	away.Close()
	require.Eventually(t, func() bool { return c.PubSubNumSub(ctx, topic).Val()[topic] == all-1 }, patience, aWhile/30)
	s.tell("theirs sum = 21; ours Reset; theirs sum = 0; theirs destroy = destroyed; ours Close")
}

// many is how often each of three adders adds.
const many = 2000

// addBeside has all add and ask side by side. No sum may fall, nor be less than what its asker has added.
func addBeside(t *testing.T, java *peer, name string, adders ...*primitives.LongAdder) {
	t.Helper()
	ctx := bounded(t)
	theirs := java.begin("longAdder.addMany", name, many)
	for i, last := int64(1), int64(0); i <= many; i++ {
		for _, a := range adders {
			a.Increment()
		}
		if i%(many/20) == 0 {
			sum := cells.Got(adders[0].Sum(ctx))(t)
			require.GreaterOrEqual(t, sum, max(last, i*int64(len(adders))))
			require.LessOrEqual(t, sum, many+i*int64(len(adders)))
			last = sum
		}
	}
	java.await(theirs, "added")
	java.does("6000", "longAdder.sum", name)
	for _, a := range adders {
		cells.Want(t, int64(3*many))(a.Sum(ctx))
	}
}

// testDoubleAdder does the same for fractions.
func testDoubleAdder(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	mine := cells.Got(ours.OpenDoubleAdder(ctx, "fractions"))(t)
	s := java.teller(ctx, "doubleAdder", "fractions", map[string]any{"ours": mine})
	s.tell("theirs open = opened")
	for _, c := range [][4]string{ // What ours adds and theirs, and the sum as each says it.
		{"0.5", "0.25", "0.75", "0.75"}, {"1e21", "0", "1e+21", "1.0E21"}, {"-1e-7", "0", "-1e-07", "-1.0E-7"},
		{"0", "1.0E-5", "1e-05", "1.0E-5"}, {"0", "3.0E15", "3e+15", "3.0E15"},
	} {
		s.tell("ours Add " + c[0] + "; theirs add " + c[1] + " = added; theirs sum = " + c[3] + "; ours Sum = " + c[2] +
			"; theirs reset = reset; ours Sum = 0")
	}
	require.NoError(t, mine.Close())
}
