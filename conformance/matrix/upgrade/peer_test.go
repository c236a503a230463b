package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// This file and kinds_test.go are also compiled in the checkout of the other version: they use only what both have.

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// TestPeer is the child of other tests: a process of one version of hasp. It reads orders, "number verb kind name", and
// says "number answer" for each. An order that waits delays no other.
func TestPeer(t *testing.T) {
	args, orders := cells.AsChild(t)
	lease, err := time.ParseDuration(args[1])
	require.NoError(t, err)
	b := &cells.Runner{Backend: cells.Named("GoRedis").Backend(t, cells.At(args[0]))}
	p := &peer{
		client: cells.Over(t, b, &primitives.Options{WatchdogLease: lease, PollInterval: time.Hour}),
		server: redis.NewClient(&redis.Options{Addr: args[0]}), id: args[2], held: map[string]hold{}, ran: map[string]int{},
	}
	b.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		reply, err := b.Good(ctx, c)
		p.note(c)
		return reply, err
	}
	cells.Say("0 ready")
	for order := range orders {
		words := strings.Fields(order)
		p.begin(words)
		go func() { cells.Say(words[0], p.answer(t.Context(), words[1], words[2], words[3])) }()
	}
}

// peer is what a process of one version holds, and which scripts it has run.
type peer struct {
	client *primitives.Client
	server *redis.Client
	id     string

	mu      sync.Mutex
	held    map[string]hold // by kind and name
	ran     map[string]int  // scripts that have run, by "acquire", "before" (the last acquire) or "renew", and the name
	stopped bool
}

// note counts a script that has run, for each name in its keys.
func (p *peer) note(c backend.Call) {
	verb := ""
	switch name := c.Script.Name; {
	case strings.Contains(name, "renew"):
		verb = "renew "
	case strings.Contains(name, "acquire"), strings.Contains(name, "beat"), name == "plain_set":
		verb = "acquire "
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range namesIn(c.Keys) {
		p.ran[verb+name]++
	}
}

// namesIn returns the names in keys: a name that a test chooses begins and ends with a percent sign.
func namesIn(keys []string) map[string]bool {
	names := map[string]bool{}
	for _, key := range keys {
		if parts := strings.Split(key, "%"); len(parts) > 2 {
			names["%"+parts[1]+"%"] = true
		}
	}
	return names
}

// begin remembers how often scripts have asked for a name before an acquire.
func (p *peer) begin(words []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if words[1] == "acquire" {
		p.ran["before "+words[3]] = p.ran["acquire "+words[3]]
	}
}

func (p *peer) answer(ctx context.Context, verb, kind, name string) string {
	switch verb {
	case "acquire", "try":
		return p.take(ctx, verb, kind, name)
	case "release":
		p.mu.Lock()
		h := p.held[kind+name]
		p.mu.Unlock()
		return said("released", h.release(ctx))
	case "parked": // A refused waiter subscribes, looks again, and parks.
		return p.await("acquire "+name, p.count("before "+name)+2)
	case "renewals":
		return p.await("renew "+name, p.count("renew "+name)+2)
	case "contend":
		return p.contend(ctx, kind, name)
	case "stop":
		p.mu.Lock()
		p.stopped = true
		p.mu.Unlock()
		return "stopping"
	default:
		return calls[verb](ctx, p.client, name)
	}
}

// take acquires an object of a kind, and remembers what ends the hold.
func (p *peer) take(ctx context.Context, verb, kind, name string) string {
	h, err := kinds[kind](ctx, p.client, name, verb == "try")
	if errors.Is(err, primitives.ErrNotAcquired) {
		return "refused"
	}
	p.mu.Lock()
	p.held[kind+name] = h
	p.mu.Unlock()
	return said(fmt.Sprint("granted ", h.token), err)
}

// await waits until so many scripts have run.
func (p *peer) await(count string, n int) string {
	for p.count(count) < n {
		time.Sleep(time.Millisecond)
	}
	return "counted"
}

func (p *peer) count(of string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ran[of]
}

// contend acquires and releases until the order to stop. While it holds, it is alone: the number of holders, which
// the server keeps apart from the object, is 1. It counts the holds there, too.
func (p *peer) contend(ctx context.Context, kind, name string) string {
	inside, id := "inside:"+kind, "holds:"+kind+":"+p.id
	for !p.stops() {
		h, err := kinds[kind](ctx, p.client, name, false)
		if err != nil {
			return said("", err)
		}
		holders, err := p.server.Incr(ctx, inside).Result()
		if err != nil || holders != 1 {
			return fmt.Sprintf("%d holders, error %v", holders, err)
		}
		err = errors.Join(p.server.Incr(ctx, id).Err(), p.server.Decr(ctx, inside).Err(), h.release(ctx))
		if err != nil {
			return said("", err)
		}
	}
	return "stopped"
}

func (p *peer) stops() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// said returns a text, or an error's, on one line.
func said(text string, err error) string {
	if err != nil {
		text = "failed: " + err.Error()
	}
	return strings.Join(slices.Collect(strings.SplitSeq(text, "\n")), " ")
}
