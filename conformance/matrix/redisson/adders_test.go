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
		one := cells.Got(ours.OpenLongAdder(ctx, name))(t)
		other := cells.Got(ours.OpenLongAdder(ctx, name))(t)
		java.does("opened", "longAdder.open", name)
		one.Add(1)
		other.Add(20)
		java.does("added", "longAdder.add", name, 300)
		java.does("321", "longAdder.sum", name)
		cells.Want(t, int64(321))(one.Sum(ctx))
		java.does("opened another", "longAdder.open", name) // It is in the same client, and has counted nothing.
		cells.Want(t, int64(321))(other.Sum(ctx))
		java.does("321", "longAdder.sum", name)

		java.does("reset", "longAdder.reset", name)
		cells.Want(t, int64(0))(one.Sum(ctx))
		one.Add(-4)
		java.does("added", "longAdder.add", name, 9)
		java.does("5", "longAdder.sum", name)
		require.NoError(t, other.Reset(ctx))
		java.does("0", "longAdder.sum", name)

		addBeside(t, java, name, one, other)
		java.does("destroyed", "longAdder.destroy", name)
		cells.Want(t, int64(2*many))(other.Sum(ctx))
		require.NoError(t, one.Close())
		require.NoError(t, other.Close())
		java.does("0", "keys.count", "*adder*") // No key of a request is left.
	}
}

// testLongAdderUnderAPrefix shares an adder under a prefix: with a client that has a NameMapper, and then with a client
// that has the prefix in the name. No request leaves a key without an expiry.
func testLongAdderUnderAPrefix(ctx context.Context, t *testing.T, _ *primitives.Client, java *peer) {
	t.Helper()
	ours := cells.Named("Rueidis").Primitives(t, java.at, &primitives.Options{KeyPrefix: "pre:"})
	for name, open := range map[string]func(name string) bool{
		"mapped":      func(name string) bool { return java.does("opened", "longAdder.openMapped", name, "pre:") },
		"pre:spelled": func(name string) bool { return java.does("opened", "longAdder.open", name) },
	} {
		key := "pre:" + strings.TrimPrefix(name, "pre:")
		if !open(name) {
			continue // The older ones have NameMapper in another package.
		}
		mine := cells.Got(ours.OpenLongAdder(ctx, strings.TrimPrefix(name, "pre:")))(t)
		mine.Add(1)
		java.does("added", "longAdder.add", name, 20)
		cells.Want(t, int64(21))(mine.Sum(ctx))
		require.NoError(t, mine.Reset(ctx))
		cells.Want(t, int64(0))(mine.Sum(ctx))
		java.does("added", "longAdder.add", name, -5)
		mine.Add(3)
		cells.Want(t, int64(-2))(mine.Sum(ctx))
		java.does("0", "keys.count", "*"+key+"*") // Of ours none is left.

		java.does("-2", "longAdder.sum", name)
		java.does("reset", "longAdder.reset", name)
		java.does("0", "longAdder.sum", name)
		cells.Want(t, int64(0))(mine.Sum(ctx))
		java.does("0", "keys.countEndless", "*"+key+"*")
		java.does("destroyed", "longAdder.destroy", name)
		require.NoError(t, mine.Close())
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
	mine := cells.Got(ours.OpenLongAdder(ctx, "databases"))(t)
	java.does("opened", "longAdder.open", "databases")
	away.Add(300)
	mine.Add(1)
	java.does("added", "longAdder.add", "databases", 20)
	for range 10 {
		cells.Want(t, int64(21))(mine.Sum(ctx))
	}
	const topic = "{databases}:adder-topic"
	all := c.PubSubNumSub(ctx, topic).Val()[topic]
	away.Close()
	require.Eventually(t, func() bool { return c.PubSubNumSub(ctx, topic).Val()[topic] == all-1 }, patience, aWhile/30)
	java.does("21", "longAdder.sum", "databases")
	require.NoError(t, mine.Reset(ctx))
	java.does("0", "longAdder.sum", "databases")
	java.does("destroyed", "longAdder.destroy", "databases")
	require.NoError(t, mine.Close())
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
	java.does("opened", "doubleAdder.open", "fractions")
	for _, c := range []struct {
		mine   float64
		theirs string
		sum    float64
		text   string
	}{
		{0.5, "0.25", 0.75, "0.75"}, {1e21, "0", 1e21, "1.0E21"}, {-1e-7, "0", -1e-7, "-1.0E-7"},
		{0, "1.0E-5", 1e-5, "1.0E-5"}, {0, "3.0E15", 3e15, "3.0E15"},
	} {
		mine.Add(c.mine)
		java.does("added", "doubleAdder.add", "fractions", c.theirs)
		java.does(c.text, "doubleAdder.sum", "fractions")
		cells.Want(t, c.sum)(mine.Sum(ctx))
		java.does("reset", "doubleAdder.reset", "fractions")
		cells.Want(t, 0.0)(mine.Sum(ctx))
	}
	require.NoError(t, mine.Close())
}
