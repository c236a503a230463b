package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
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
	if err := h.Validate(); err != nil {
		b.Fatal(err)
	}
	for _, m := range benchmarks() {
		b.Run(m.name, func(b *testing.B) { m.run(b, h) })
	}
}

// benchmark is one operation that is measured.
type benchmark struct {
	name  string
	needs []harness.Need

	// prepare returns the operation.
	prepare func(ctx context.Context, e *harness.Env) func(ctx context.Context) error
}

func benchmarks() []benchmark {
	pubsub := []harness.Need{harness.PubSub}
	return []benchmark{
		{name: "Script", prepare: prepareScript},
		{name: "Command", prepare: prepareCommand},
		{name: "Batch100", needs: []harness.Need{harness.Batches}, prepare: prepareBatch},
		{name: "PublishToHandler", needs: pubsub, prepare: preparePublish},
		{name: "LockUnlock", prepare: preparePair},
		{name: "HandOver", needs: pubsub, prepare: prepareHandOver},
	}
}

func (m benchmark) run(b *testing.B, h *Harness) {
	b.Helper()
	if reason := harness.Lacks(h, m.needs); reason != "" {
		b.Skip(reason)
	}
	e := harness.NewEnv(h)
	defer e.Close()
	var op func(ctx context.Context) error
	orFatal := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	orFatal(must.Catch(func() { op = m.prepare(b.Context(), e) }))
	orFatal(op(b.Context())) // Connects, and loads the scripts.
	b.ReportAllocs()
	before, counted := executed(b.Context(), e)
	for b.Loop() {
		orFatal(op(b.Context()))
	}
	after, _ := executed(b.Context(), e)
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
func executed(ctx context.Context, e *harness.Env) (all counts, ok bool) {
	replies, err := e.Primaries(ctx, "INFO", "commandstats")
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

func prepareScript(ctx context.Context, e *harness.Env) func(context.Context) error {
	return runs(ctx, e, e.Script("return 1", 1, backend.Never), e.Key("script"))
}

func prepareCommand(ctx context.Context, e *harness.Env) func(context.Context) error {
	get := e.Script("return redis.call('get', KEYS[1])", 1, backend.ReadOnly)
	get.Command = "GET"
	return runs(ctx, e, get, e.Key("command"))
}

// runs returns the operation that runs s on key.
func runs(ctx context.Context, e *harness.Env, s *backend.Script, key string, args ...string) func(context.Context) error {
	b, keys := e.Backend(ctx), []string{key}
	return func(ctx context.Context) error {
		_, err := b.Run(ctx, s, keys, args)
		return err
	}
}

func prepareBatch(ctx context.Context, e *harness.Env) func(context.Context) error {
	b, ok := e.Backend(ctx).(backend.Batcher)
	must.If(!ok, "the backend does not implement Batcher")
	script := e.Script("redis.call('set', KEYS[1], ARGV[1]) return ARGV[1]", 1, backend.Never)
	calls := make([]backend.Call, 100)
	for i := range calls {
		number := fmt.Sprint(i)
		calls[i] = backend.Call{Script: script, Keys: []string{e.Tag + ":" + number}, Args: []string{number}}
	}
	return func(ctx context.Context) error {
		for _, outcome := range backend.RunAll(ctx, b, calls) {
			if outcome.Err != nil {
				return outcome.Err
			}
		}
		return nil
	}
}

// preparePublish publishes by a plain command: it goes where its key, the channel, has its slot.
func preparePublish(ctx context.Context, e *harness.Env) func(context.Context) error {
	channel, arrived := e.Key("channel"), make(chan struct{}, 1)
	must.Get(e.Backend(ctx).Subscribe(ctx, channel, func(event backend.Event) {
		if event.Kind == backend.Message {
			arrived <- struct{}{}
		}
	}))
	publish := e.Script("return redis.call('publish', KEYS[1], ARGV[1])", 1, backend.Never)
	publish.Command = e.Capabilities.Publish()
	send := runs(ctx, e, publish, channel, "message")
	return func(ctx context.Context) error {
		if err := send(ctx); err != nil {
			return err
		}
		return await(ctx, arrived)
	}
}

func await(ctx context.Context, happened <-chan struct{}) error {
	select {
	case <-happened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func preparePair(ctx context.Context, e *harness.Env) func(context.Context) error {
	c, _ := engine.NewClient(ctx, e, nil)
	lock := c.NewLock(e.Key("lock"), nil)
	return func(ctx context.Context) error {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		return lease.Unlock(ctx)
	}
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
func prepareHandOver(ctx context.Context, e *harness.Env) func(context.Context) error {
	var locks [2]*primitives.Lock
	var clients [2]tried
	for i := range locks {
		c, _ := engine.ClientOver(ctx, e, nil, func(b backend.Backend) backend.Backend {
			clients[i] = tried{b, make(chan struct{}, 1)}
			return clients[i]
		})
		locks[i] = c.NewLock(e.Key("lock"), nil)
	}
	lease, turn := must.Get(locks[0].Lock(ctx)), 0
	return func(ctx context.Context) error {
		turn = 1 - turn
		select {
		case <-clients[turn].ran:
		default:
		}
		var next *primitives.Lease
		got := must.Beside(func() { next = must.Get(locks[turn].Lock(ctx)) })
		if err := errors.Join(await(ctx, clients[turn].ran), lease.Unlock(ctx), <-got); err != nil {
			return err
		}
		lease = next
		return nil
	}
}
