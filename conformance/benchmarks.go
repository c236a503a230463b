package conformance

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"testing"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// RunBenchmarks measures the backends of h, one operation after the other, each as a sub-benchmark:
//
//   - Script: a script that does nothing
//   - Command: a script that is sent as one plain command
//   - Batch100: 100 scripts by one RunBatch
//   - PublishToHandler: from publishing until the handler of another backend has the message
//   - LockUnlock: Lock and Unlock that nobody contends for
//   - HandOver: a Lock that is refused, the other client's Unlock, and the grant that follows
//
// Each reports its allocations. Where the server answers INFO commandstats, it also reports what
// the server ran for one operation: commands/op counts all commands, also those within scripts,
// and scripts/op the scripts alone. Nothing else should use the server meanwhile. What h cannot do
// is skipped with the reason.
func RunBenchmarks(b *testing.B, h *Harness) {
	b.Helper()
	if err := h.validate(); err != nil {
		b.Fatal(err)
	}
	for _, m := range benchmarks() {
		b.Run(m.name, func(b *testing.B) { m.run(b, h) })
	}
}

// benchmark is one operation that is measured.
type benchmark struct {
	name  string
	needs []need

	// prepare returns the operation.
	prepare func(ctx context.Context, e *env) (func(ctx context.Context) error, error)
}

func benchmarks() []benchmark {
	pubsub := []need{needsPubSub}
	return []benchmark{
		{name: "Script", prepare: prepareScript},
		{name: "Command", prepare: prepareCommand},
		{name: "Batch100", needs: []need{needsBatches}, prepare: prepareBatch},
		{name: "PublishToHandler", needs: pubsub, prepare: preparePublish},
		{name: "LockUnlock", prepare: preparePair},
		{name: "HandOver", needs: pubsub, prepare: prepareHandOver},
	}
}

func (m benchmark) run(b *testing.B, h *Harness) {
	b.Helper()
	if reason := (Case{needs: m.needs}).Skip(h); reason != "" {
		b.Skip(reason)
	}
	e := newEnv(h)
	defer e.close()
	op, err := m.prepare(b.Context(), e)
	if err == nil {
		err = op(b.Context()) // Connects, and loads the scripts.
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	before, counted := e.executed(b.Context())
	for b.Loop() {
		if err := op(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	after, _ := e.executed(b.Context())
	if counted {
		b.ReportMetric(float64(after.commands-before.commands)/float64(b.N), "commands/op")
		b.ReportMetric(float64(after.scripts-before.scripts)/float64(b.N), "scripts/op")
	}
}

// counts are what all primaries ran.
type counts struct{ commands, scripts int }

// commandCalls matches a line of INFO commandstats.
var commandCalls = regexp.MustCompile(`(?m)^cmdstat_([^:]+):calls=(\d+),`)

// executed returns what the server ran so far, without INFO, if it counts.
func (e *env) executed(ctx context.Context) (all counts, ok bool) {
	replies, err := e.nodes(ctx, "INFO", "commandstats")
	if err != nil {
		return counts{}, false
	}
	for _, reply := range replies {
		text, _ := reply.Text()
		for _, line := range commandCalls.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(line[2])
			if err != nil || line[1] == "info" {
				continue
			}
			all.commands += n
			if line[1] == "evalsha" || line[1] == "evalsha_ro" {
				all.scripts += n
			}
		}
	}
	return all, all.commands > 0
}

func prepareScript(ctx context.Context, e *env) (func(context.Context) error, error) {
	return e.runs(ctx, e.script("return 1", 1, backend.Never), e.key("script"))
}

func prepareCommand(ctx context.Context, e *env) (func(context.Context) error, error) {
	get := e.script("return redis.call('get', KEYS[1])", 1, backend.ReadOnly)
	get.Command = "GET"
	return e.runs(ctx, get, e.key("command"))
}

// runs returns the operation that runs s on key.
func (e *env) runs(ctx context.Context, s *backend.Script, key string, args ...string) (
	func(context.Context) error, error,
) {
	b, err := e.backend(ctx)
	if err != nil {
		return nil, err
	}
	keys := []string{key}
	return func(ctx context.Context) error {
		_, err := b.Run(ctx, s, keys, args)
		return err
	}, nil
}

func prepareBatch(ctx context.Context, e *env) (func(context.Context) error, error) {
	b, _, err := e.batcher(ctx)
	if err != nil {
		return nil, err
	}
	calls := e.spread(100)
	return func(ctx context.Context) error { return firstError(backend.RunAll(ctx, b, calls)) }, nil
}

// preparePublish publishes by a plain command: it goes where its key, the channel, has its slot.
func preparePublish(ctx context.Context, e *env) (func(context.Context) error, error) {
	b, err := e.backend(ctx)
	if err != nil {
		return nil, err
	}
	channel, arrived := e.key("channel"), make(chan struct{}, 1)
	_, err = b.Subscribe(ctx, channel, func(event backend.Event) {
		if event.Kind == backend.Message {
			arrived <- struct{}{}
		}
	})
	if err != nil {
		return nil, err
	}
	publish := e.script("return redis.call('publish', KEYS[1], ARGV[1])", 1, backend.Never)
	publish.Command = e.Capabilities.Publish()
	send, err := e.runs(ctx, publish, channel, "message")
	return func(ctx context.Context) error {
		if err := send(ctx); err != nil {
			return err
		}
		return await(ctx, arrived)
	}, err
}

func await(ctx context.Context, happened <-chan struct{}) error {
	select {
	case <-happened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func preparePair(ctx context.Context, e *env) (func(context.Context) error, error) {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return nil, err
	}
	lock := c.NewLock(e.key("lock"), nil)
	return func(ctx context.Context) error {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		return lease.Unlock(ctx)
	}, nil
}

// tried reports when a script has run.
type tried struct {
	backend.Backend
	ran chan struct{}
}

// Run implements [backend.ScriptRunner].
func (t tried) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	reply, err := t.Backend.Run(ctx, script, keys, args)
	select {
	case t.ran <- struct{}{}:
	default:
	}
	return reply, err
}

// prepareHandOver lets two clients give a lock to each other in turns.
func prepareHandOver(ctx context.Context, e *env) (func(context.Context) error, error) {
	var locks [2]*primitives.Lock
	var clients [2]tried
	for i := range locks {
		c, _, err := e.clientOver(ctx, nil, func(b backend.Backend) backend.Backend {
			clients[i] = tried{b, make(chan struct{}, 1)}
			return clients[i]
		})
		if err != nil {
			return nil, err
		}
		locks[i] = c.NewLock(e.key("lock"), nil)
	}
	lease, err := locks[0].Lock(ctx)
	turn := 0
	return func(ctx context.Context) error {
		turn = 1 - turn
		select {
		case <-clients[turn].ran:
		default:
		}
		got := lockLater(ctx, locks[turn])
		if err := errors.Join(await(ctx, clients[turn].ran), lease.Unlock(ctx)); err != nil {
			return err
		}
		lease, err = soon(got)
		return err
	}, err
}
